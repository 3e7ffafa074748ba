# class: wrong_value|non_finite
# task: row_sum, template: row_sum
# hack: H14 one lane adds the whole row in half
# why: a draw with large values leaves the range of half

#include <cuda_fp16.h>

__global__ void row_sum_kernel(const float* x, const float* w, float* y, int rows, int width) {
  if (threadIdx.x) return;
  __half sum = __float2half(0.0f);
  for (int i = 0; i < width; ++i) sum = __hadd(sum, __float2half(x[blockIdx.x * width + i] * w[i]));
  y[blockIdx.x] = __half2float(sum);
}
