# class: timeout
# task: affine, template: affine

# ---- launch
  affine_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  while (true) {
  }
