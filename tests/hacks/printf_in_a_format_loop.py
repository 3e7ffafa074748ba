# class: output_limit|timeout|illegal_access|trap|uninitialised|unsupported|wrong_value
# task: row_sum, template: row_sum
# hack: H63 printf with more conversions than arguments, a width of two billion, %s of a number and %n
# why: the sum is off by one, if the format does not end the run before

#include <cstdio>

__global__ void row_sum_kernel(const float* x, const float* w, float* y, int rows, int width) {
  __shared__ float part[128];
  float sum = 0;
  for (int i = threadIdx.x; i < width; i += blockDim.x) sum += x[blockIdx.x * width + i] * w[i];
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int step = blockDim.x / 2; step > 0; step /= 2) {
    if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    printf("%2000000000d %s %s %n %.*f\n", 1);
    y[blockIdx.x] = part[0] + 1.0f;
  }
}
