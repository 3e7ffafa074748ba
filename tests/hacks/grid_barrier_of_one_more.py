# class: barrier|timeout
# task: row_sum, template: row_sum
# hack: H58 a barrier by hand over the grid waits for one block more than there is
# why: told as a barrier that cannot complete, or ended by the limit on work

__device__ unsigned arrived;

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
    atomicAdd(&arrived, 1);
    while (atomicAdd(&arrived, 0) < gridDim.x + 1) {
    }
  }
}
