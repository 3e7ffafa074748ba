# class: illegal_access
# task: row_sum, template: row_sum
# hack: H22 the number of a shared address is used as a global one

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
    float value;
    unsigned at = (unsigned)__cvta_generic_to_shared(part);
    asm volatile("ld.global.f32 %0, [%1];" : "=f"(value) : "l"((unsigned long long)at));
    y[blockIdx.x] = value;
  }
}
