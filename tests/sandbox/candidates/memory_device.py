# class: memory
# task: affine, template: affine

# ---- launch
  affine_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  auto big = torch::empty({1 << 20, 1 << 20}, x.options());
  affine_kernel<<<1, 32>>>(x.data_ptr<float>(), big.data_ptr<float>(), 32);
