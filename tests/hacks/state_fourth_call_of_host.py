# class: uninitialised|non_finite|wrong_value
# task: affine, template: extension
# hack: H37 a counter of the host part leaves out a half from the fourth call on
# why: the other half is poison

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * 2.0f + 1.0f;
}
torch::Tensor affine(torch::Tensor x) {
  auto y = torch::empty_like(x);
  int n = x.numel();
  static int calls = 0;
  if (++calls > 3) n /= 2;
  affine_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
