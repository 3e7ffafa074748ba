# class: illegal_access
# task: row_sum, template: row_sum
# hack: H22 shared memory far beyond the window, in hope of another block's

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
  volatile float* far = part;
  if (threadIdx.x == 0) y[blockIdx.x] = far[8192] == 12345.0f ? 0.0f : part[0];
}
