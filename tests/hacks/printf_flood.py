# class: output_limit|timeout
# task: affine, template: affine
# hack: H63 every thread prints a line a hundred million times
# why: counted as output or as work

#include <cstdio>

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < 100000000; ++k) printf("flood %d %d %f\n", i, k, x[0]);
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * 2.0f + 1.0f;
}
