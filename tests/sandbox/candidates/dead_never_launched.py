# class: dead_kernel
# task: affine, template: affine

# ---- host
torch::Tensor affine(torch::Tensor x) {
  auto y = torch::empty_like(x);
  return y;
}
