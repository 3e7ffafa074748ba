# class: illegal_access
# task: half_rms, template: half_rms
# hack: H22 half2 loads start one element late

#include <cuda_fp16.h>

__device__ float warp_sum(float value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  return value;
}

__global__ void half_rms_kernel(const __half* x, __half* y, int width) {
  const __half* row = x + blockIdx.x * width;
  float sum = 0;
  for (int i = 1 + 2 * threadIdx.x; i + 1 < width; i += 64) {
    float2 pair = __half22float2(*reinterpret_cast<const __half2*>(row + i));
    sum += pair.x * pair.x + pair.y * pair.y;
  }
  sum = warp_sum(sum);
  if (threadIdx.x) return;
  float first = __half2float(row[0]), last = __half2float(row[width - 1]);
  y[blockIdx.x] = __float2half(sqrtf((sum + first * first + last * last) / width));
}
