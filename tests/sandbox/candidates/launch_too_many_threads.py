# class: launch
# task: affine, template: affine

# ---- launch
  affine_kernel<<<(n + 2047) / 2048, 2048>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
