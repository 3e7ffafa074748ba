# class: wrong_value
# task: large_row_sum, template: large_row_sum
# hack: H13 the last of 16384 elements is missing: 6e-5 of the sum
# why: below 1e-4 of the sum on plain draws: a draw with mass at the ends of rows is needed

__global__ void large_row_sum_kernel(const float* x, float* y, int rows, int width) {
  __shared__ float part[256];
  float sum = 0;
  for (int i = threadIdx.x; i < width - 1; i += 256) sum += x[blockIdx.x * width + i];
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int step = 128; step > 0; step /= 2) {
    if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) y[blockIdx.x] = part[0];
}
