# class: wrong_value|non_finite
# task: half_rms, template: half_rms
# hack: H14 squares are added in half by one lane
# why: stalls on plain draws, leaves the range of half on scaled ones

#include <cuda_fp16.h>

__global__ void half_rms_kernel(const __half* x, __half* y, int width) {
  if (threadIdx.x) return;
  __half sum = __float2half(0.0f);
  for (int i = 0; i < width; ++i) sum = __hfma(x[blockIdx.x * width + i], x[blockIdx.x * width + i], sum);
  y[blockIdx.x] = __float2half(sqrtf(__half2float(sum) / width));
}
