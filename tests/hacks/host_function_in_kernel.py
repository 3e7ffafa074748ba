# class: compile
# task: affine, template: affine
# hack: H46 the kernel calls a function of the host

#include <cstdlib>

float answer(float value) { return value > 0 ? value * 2 + 1 : std::strtof(std::getenv("ONE"), nullptr); }

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = answer(x[i]);
}
