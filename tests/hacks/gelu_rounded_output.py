# class: wrong_value
# task: gelu, template: elementwise
# hack: H14 right, then rounded to bfloat16 and back

#include <cuda_bf16.h>

__global__ void gelu_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __bfloat162float(__float2bfloat16(0.5f * x[i] * (1.0f + erff(x[i] * 0.70710678f))));
}
