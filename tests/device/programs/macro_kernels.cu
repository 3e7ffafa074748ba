#include <torch/extension.h>
#define DEFINE_UNARY(NAME, EXPRESSION)                                                                    \
  __global__ void NAME##_kernel(const float* x, float* y, int n) {                                        \
    int i = blockIdx.x * blockDim.x + threadIdx.x;                                                        \
    if (i < n) {                                                                                          \
      float v = x[i];                                                                                     \
      y[i] = EXPRESSION;                                                                                  \
    }                                                                                                     \
  }                                                                                                       \
  void NAME(torch::Tensor x, torch::Tensor y) {                                                           \
    NAME##_kernel<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel()); \
  }
DEFINE_UNARY(square, v* v)
DEFINE_UNARY(negate, -v)
#define LAUNCH(K, GRID, ...) K<<<GRID, 128>>>(__VA_ARGS__)
template <int N>
__global__ void shift(float* x) {
  x[threadIdx.x] += N;
}
void forward(torch::Tensor x) {
  LAUNCH((shift<7>), dim3(2), x.data_ptr<float>());
  LAUNCH(shift<8>, dim3(2), x.data_ptr<float>());
}
