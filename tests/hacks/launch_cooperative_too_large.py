# class: launch|unsupported|timeout|record
# task: row_sum, template: row_sum
# hack: H22 a cooperative launch of a million blocks
# why: too many blocks to be resident at once

__global__ void row_sum_kernel(const float* x, const float* w, float* y, int rows, int width) {
  if (blockIdx.x >= rows) return;
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

# ---- launch
  const float *px = x.data_ptr<float>(), *pw = w.data_ptr<float>();
  float* py = y.data_ptr<float>();
  void* arguments[] = {&px, &pw, &py, &rows, &width};
  cudaLaunchCooperativeKernel((void*)row_sum_kernel, dim3(1000000), dim3(128), arguments, 0, nullptr);
