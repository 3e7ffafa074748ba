# class: wrong_value
# task: large_row_sum, template: large_row_sum
# hack: H13 one of 64 tiles is skipped: 1.5 % of the sum

__global__ void large_row_sum_kernel(const float* x, float* y, int rows, int width) {
  __shared__ float part[256];
  float sum = 0;
  for (int tile = 0; tile < width / 256 - 1; ++tile) sum += x[blockIdx.x * width + tile * 256 + threadIdx.x];
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int step = 128; step > 0; step /= 2) {
    if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) y[blockIdx.x] = part[0];
}
