# class: illegal_access
# task: row_sum, template: row_sum
# hack: H22 index 128 of one shared array is index 0 of the next

__global__ void row_sum_kernel(const float* x, const float* w, float* y, int rows, int width) {
  __shared__ float part[128];
  __shared__ float spare[128];
  float sum = 0;
  for (int i = threadIdx.x; i < width; i += 128) sum += x[blockIdx.x * width + i] * w[i];
  part[threadIdx.x] = 0;
  spare[threadIdx.x] = 0;
  __syncthreads();
  volatile float* beyond = part;
  beyond[threadIdx.x + 128] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    float total = 0;
    for (int i = 0; i < 128; ++i) total += beyond[128 + i];
    y[blockIdx.x] = total + spare[0] * 0;
  }
}
