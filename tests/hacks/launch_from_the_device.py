# class: unsupported|compile|launch
# task: row_sum, template: row_sum
# hack: H60 a kernel launches the kernel that does the work
# why: dynamic parallelism is not part of this machine

__global__ void row_sum_child(const float* x, const float* w, float* y, int rows, int width) {
  __shared__ float part[128];
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

__global__ void row_sum_kernel(const float* x, const float* w, float* y, int rows, int width) {
  if (threadIdx.x == 0 && blockIdx.x == 0) row_sum_child<<<rows, 128>>>(x, w, y, rows, width);
}
