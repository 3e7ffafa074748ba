# class: memory|record|protocol
# task: affine, template: affine_copy
# hack: H61 the host part allocates and touches memory for ever
# why: std::bad_alloc, or the box's limit

# ---- host
torch::Tensor affine(torch::Tensor x) {
  auto y = torch::empty_like(x);
  std::vector<std::vector<char>> kept;
  for (;;) kept.emplace_back(1 << 24, 'x');
  int n = x.numel();
  affine_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
