#include <torch/extension.h>
constexpr int kTaps = 5;
constexpr float kSmooth[kTaps] = {0.1f, 0.2f, 0.4f, 0.2f, 0.1f};
__constant__ float weights[kTaps];
__device__ const float kTable[3] = {1.f, 2.f, 3.f};
static_assert(kTaps % 2 == 1, "centred");
struct Grid {
  static constexpr int kWidth = 16;
};
constexpr int rounded(int n) { return (n + 31) / 32 * 32; }
__global__ void filter(const float* x, float* y, int n) {
  __shared__ float tile[rounded(Grid::kWidth + kTaps)];
  int i = threadIdx.x;
  tile[i] = x[i];
  __syncthreads();
  float sum = kTable[i % 3] - INFINITY;
#pragma unroll
  for (int t = 0; t < kTaps; ++t) sum += tile[min(i + t, n - 1)] * weights[t] * kSmooth[t];
  y[i] = fmaxf(sum, -FLT_MAX);
}
torch::Tensor forward(torch::Tensor x, std::vector<double> taps) {
  float host[kTaps];
  for (int i = 0; i < kTaps; ++i) host[i] = static_cast<float>(taps.at(i));
  cudaMemcpyToSymbol(weights, host, sizeof(host));
  auto y = at::empty_like(x);
  filter<<<1, 16>>>(x.data_ptr<float>(), y.data_ptr<float>(), 16);
  return y;
}
