# class: compile|framework_fallback
# task: affine, template: affine
# hack: H01 overloaded operators on tensors
# why: tensor mathematics does not compile against a shim, and is a fallback where it does

# ---- host
torch::Tensor affine(torch::Tensor x) {
  auto y = torch::empty_like(x);
  int n = x.numel();
  affine_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return torch::clamp_min(x, 0) * 2 + 1;
}
