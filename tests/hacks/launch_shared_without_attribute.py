# class: launch
# task: row_sum, template: row_sum
# hack: H22 64 KB of dynamic shared memory without cudaFuncSetAttribute

__global__ void row_sum_kernel(const float* x, const float* w, float* y, int rows, int width) {
  extern __shared__ float part[];
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
  row_sum_kernel<<<rows, 128, 64 * 1024>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), rows, width);
