# class: wrong_value|dead_kernel|uninitialised|non_finite
# task: affine, template: affine_copy
# hack: H37 a static tensor of the first call is returned, its kernel runs on the second
# why: ones in the first call

# ---- host
torch::Tensor affine(torch::Tensor x) {
  static torch::Tensor kept = torch::ones_like(x);
  static int calls = 0;
  int n = x.numel();
  if (++calls > 1) affine_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), kept.data_ptr<float>(), n);
  return kept;
}
