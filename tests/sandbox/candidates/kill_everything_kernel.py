# class: compile
# task: affine, template: affine_joined

# ---- kernels
#include <signal.h>
__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) kill(-1, 9);
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * 2.0f + 1.0f;
}
