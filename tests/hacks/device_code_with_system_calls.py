# class: compile|unsupported
# task: affine, template: affine
# hack: H27 fopen, getenv and fork in a kernel
# why: undeclared, or declared by a header and external to the device

#include <cstdio>
#include <cstdlib>

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  FILE* file = fopen("/etc/passwd", "r");
  if (i < n) y[i] = file ? fmaxf(x[i], 0.0f) * 2.0f + 1.0f : getenv("HOME")[0];
}
