# class: launch
# task: affine, template: affine
# hack: H22 70000 blocks in y

# ---- launch
  affine_kernel<<<dim3((n + 255) / 256, 70000), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
