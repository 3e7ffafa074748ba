# class: wrong_shape
# task: affine, template: affine

# ---- host
torch::Tensor affine(torch::Tensor x) {
  auto y = torch::empty({x.numel()}, x.options());
  int n = x.numel();
  affine_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
