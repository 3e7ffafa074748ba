#include <torch/extension.h>
template <int N>
__global__ void power(float* x) {
  float v = x[threadIdx.x], r = 1;
  for (int i = 0; i < N; ++i) r *= v;
  x[threadIdx.x] = r;
}
using Kernel = void (*)(float*);
static const Kernel kPowers[] = {power<1>, power<2>, power<3>};
void forward(torch::Tensor x, int64_t n) {
  kPowers[n]<<<1, 32>>>(x.data_ptr<float>());
  Kernel chosen = n > 5 ? power<6> : &power<5>;
  chosen<<<1, 32>>>(x.data_ptr<float>());
}
