#include <torch/extension.h>
#include <limits>
#include <type_traits>
template <typename T, bool LAST>
__global__ void reduce(const T* x, T* y) {
  using Sum = typename std::conditional<std::is_same<T, float>::value, double, T>::type;
  Sum sum = std::numeric_limits<T>::lowest();
  if constexpr (LAST) sum += x[threadIdx.x];
  y[0] = static_cast<T>(std::max(sum, Sum(0)));
}
template __global__ void reduce<float, true>(const float*, float*);
template __global__ void reduce<int, false>(const int*, int*);
void forward(torch::Tensor x) { reduce<float, true><<<1, 1>>>(x.data_ptr<float>(), x.data_ptr<float>()); }
