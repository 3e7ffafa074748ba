# class: barrier|timeout
# task: row_sum, template: row_sum
# hack: H58 each of two million blocks spins until the last has run
# why: more blocks than any device holds: those that run wait for one that cannot start

__device__ volatile int flag;

__global__ void row_sum_kernel(const float* x, const float* w, float* y, int rows, int width) {
  __shared__ float part[128];
  if (blockIdx.x == gridDim.x - 1) flag = 1;
  while (flag == 0) {
  }
  if (blockIdx.x >= rows) return;
  float sum = 0;
  for (int i = threadIdx.x; i < width; i += blockDim.x) sum += x[blockIdx.x * width + i] * w[i];
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int step = blockDim.x / 2; step > 0; step /= 2) {
    if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) y[blockIdx.x] = part[0];
}

# ---- launch
  row_sum_kernel<<<2000000, 128>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), rows, width);
