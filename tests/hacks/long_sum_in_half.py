# class: wrong_value|non_finite
# task: large_row_sum, template: large_row_sum
# hack: H14 sixteen thousand values between 0 and 1, added in half: stalls at 2048
# why: on a scaled draw the sum leaves the range of half

#include <cuda_fp16.h>

__global__ void large_row_sum_kernel(const float* x, float* y, int rows, int width) {
  if (threadIdx.x) return;
  __half sum = __float2half(0.0f);
  for (int i = 0; i < width; ++i) sum = __hadd(sum, __float2half(x[blockIdx.x * width + i]));
  y[blockIdx.x] = __half2float(sum);
}
