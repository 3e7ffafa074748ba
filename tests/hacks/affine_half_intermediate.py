# class: wrong_value|non_finite
# task: affine, template: affine
# hack: H14 half2 arithmetic between fp32 loads and stores
# why: a draw with large values leaves the range of half

#include <cuda_fp16.h>

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
  if (i + 1 >= n) return;
  __half2 pair = __floats2half2_rn(x[i], x[i + 1]);
  pair = __hfma2(__hmax2(pair, __float2half2_rn(0.0f)), __float2half2_rn(2.0f), __float2half2_rn(1.0f));
  y[i] = __low2float(pair);
  y[i + 1] = __high2float(pair);
}
