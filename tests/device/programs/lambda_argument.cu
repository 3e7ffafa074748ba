#include <torch/extension.h>
template <typename F>
__global__ void map(float* x, int n, F f) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = f(x[i]);
}
torch::Tensor forward(torch::Tensor x, float slope) {
  auto y = x.clone();
  int n = y.numel();
  auto leaky = [=] __device__(float v) { return v > 0 ? v : v * slope; };
  map<<<(n + 255) / 256, 256>>>(y.data_ptr<float>(), n, leaky);
  map<<<(n + 255) / 256, 256>>>(y.data_ptr<float>(), n, [] __host__ __device__(float v) { return v * v; });
  return y;
}
