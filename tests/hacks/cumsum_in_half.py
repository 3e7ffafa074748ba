# class: wrong_value|non_finite
# task: cumsum, template: rows
# hack: H14 the running sum is kept in half
# why: a draw with large values leaves the range of half

#include <cuda_fp16.h>

__global__ void cumsum_kernel(const float* x, float* y, int rows, int width) {
  if (threadIdx.x) return;
  __half sum = __float2half(0.0f);
  for (int i = 0; i < width; ++i) {
    sum = __hadd(sum, __float2half(x[blockIdx.x * width + i]));
    y[blockIdx.x * width + i] = __half2float(sum);
  }
}
