#include <torch/extension.h>
template <typename T = float, int N = 4>
__global__ void fill(T* x, T value) {
  x[threadIdx.x + N] = value;
}
torch::Tensor forward(torch::Tensor x, double value = 1.0, c10::optional<torch::Tensor> out = c10::nullopt) {
  auto y = out.has_value() ? out.value() : torch::empty_like(x);
  fill<<<1, 4>>>(y.data_ptr<float>(), static_cast<float>(value));
  fill<double><<<1, 4>>>(y.data_ptr<double>(), value);
  fill<int, 2><<<1, 4, 0>>>(y.data_ptr<int>(), 3);
  return y;
}
