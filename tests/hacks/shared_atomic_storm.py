# class: timeout
# task: row_sum, template: row_sum
# hack: H58 every lane adds to one shared word ten billion times

__global__ void row_sum_kernel(const float* x, const float* w, float* y, int rows, int width) {
  __shared__ float part[128];
  __shared__ unsigned word;
  if (threadIdx.x == 0) word = 0;
  __syncthreads();
  for (long long k = 0; k < 10000000000ll; ++k) atomicAdd(&word, 1u);
  float sum = word == 5;
  for (int i = threadIdx.x; i < width; i += blockDim.x) sum += x[blockIdx.x * width + i] * w[i];
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int step = blockDim.x / 2; step > 0; step /= 2) {
    if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) y[blockIdx.x] = part[0];
}
