#include <curand_kernel.h>
#include <torch/extension.h>
__global__ void dropout(const float* x, float* y, int n, float p, unsigned long long seed) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  curandStatePhilox4_32_10_t state;
  curand_init(seed, i, 0, &state);
  y[i] = curand_uniform(&state) < p ? 0.f : x[i] / (1.f - p);
}
torch::Tensor forward(torch::Tensor x, double p, int64_t seed) {
  auto y = torch::empty_like(x);
  dropout<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel(), p, seed);
  return y;
}
