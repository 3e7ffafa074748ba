#include <torch/extension.h>
namespace ops {
namespace detail {
__device__ __forceinline__ float sigmoid(float v) { return 1.f / (1.f + expf(-v)); }
__device__ __forceinline__ double sigmoid(double v) { return 1. / (1. + exp(-v)); }
}  // namespace detail
__global__ void apply(float* x, int n) {
  if (threadIdx.x < n) x[threadIdx.x] = detail::sigmoid(x[threadIdx.x]);
}
__global__ void apply(double* x, int n) {
  if (threadIdx.x < n) x[threadIdx.x] = detail::sigmoid(x[threadIdx.x]);
}
template <typename T>
__global__ void apply(T** x, int n) {
  x[0][n] = T(0);
}
}  // namespace ops
using namespace ops;
void forward(torch::Tensor x, torch::Tensor list) {
  ops::apply<<<1, 32>>>(x.data_ptr<float>(), 32);
  apply<<<1, 32>>>(x.data_ptr<double>(), 32);
  ops::apply<<<1, 32>>>(reinterpret_cast<float**>(list.data_ptr()), 1);
}
