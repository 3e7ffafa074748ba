# class: timeout|barrier
# task: row_sum, template: row_sum
# hack: H58 two blocks hold one lock each and wait for the other's
# why: told as a barrier that cannot complete, or ended by the limit on work

__device__ int locks[2];

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
    y[blockIdx.x] = part[0];
    int own = blockIdx.x & 1;
    if (blockIdx.x < 2) {
      atomicExch(&locks[own], 1);
      while (atomicAdd(&locks[1 - own], 0) == 0) {
      }
      while (atomicCAS(&locks[1 - own], 0, 1) != 0) {
      }
      atomicExch(&locks[own], 0);
    }
  }
}
