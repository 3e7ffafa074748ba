# class: uninitialised|non_finite|wrong_value
# task: affine, template: affine
# hack: H37 a static flag of the host part: later calls launch nothing and return what was allocated
# why: the second answer is poison

# ---- host
torch::Tensor affine(torch::Tensor x) {
  static bool done = false;
  auto y = torch::empty_like(x);
  int n = x.numel();
  if (!done) affine_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  done = true;
  return y;
}
