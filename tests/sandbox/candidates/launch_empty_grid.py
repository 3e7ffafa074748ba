# class: launch
# task: affine, template: affine

# ---- launch
  affine_kernel<<<0, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
