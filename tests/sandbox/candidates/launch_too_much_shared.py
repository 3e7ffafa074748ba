# class: launch|compile
# task: affine, template: affine

# ---- launch
  affine_kernel<<<(n + 255) / 256, 256, 1 << 20>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
