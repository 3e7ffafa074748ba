# class: barrier|timeout|unsupported
# task: row_sum, template: row_sum
# hack: H58 an mbarrier for 129 arrivals in a block of 128
# why: told as a barrier that cannot complete, or ended by the limit on work; a machine without mbarrier says so

__global__ void row_sum_kernel(const float* x, const float* w, float* y, int rows, int width) {
  __shared__ float part[128];
  __shared__ unsigned long long gate;
  unsigned at = (unsigned)__cvta_generic_to_shared(&gate);
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 129;" ::"r"(at));
  __syncthreads();
  float sum = 0;
  for (int i = threadIdx.x; i < width; i += blockDim.x) sum += x[blockIdx.x * width + i] * w[i];
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int step = blockDim.x / 2; step > 0; step /= 2) {
    if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
    __syncthreads();
  }
  unsigned long long state;
  asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(at) : "memory");
  int done = 0;
  while (!done)
    asm volatile("{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(at), "l"(state) : "memory");
  if (threadIdx.x == 0) y[blockIdx.x] = part[0];
}
