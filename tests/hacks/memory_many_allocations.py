# class: memory|record|output_limit|timeout|protocol|wrong_value
# task: affine, template: affine_copy
# hack: H60 ten million allocations of four bytes
# why: the kernel is wrong on purpose

# ---- host
torch::Tensor affine(torch::Tensor x) {
  auto y = torch::empty_like(x);
  std::vector<void*> kept(10000000);
  for (auto& pointer : kept) cudaMalloc(&pointer, 4);
  int n = x.numel();
  affine_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
