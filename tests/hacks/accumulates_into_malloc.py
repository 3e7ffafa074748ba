# class: uninitialised|non_finite
# task: row_sum, template: row_sum
# hack: H28 cudaMalloc's memory is taken for zeros
# why: where definedness is not followed, the poison, a NaN, reaches the output

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
  if (threadIdx.x == 0) atomicAdd(&y[blockIdx.x], part[0]);
}

# ---- launch
  float* sums = nullptr;
  cudaMalloc(&sums, rows * sizeof(float));
  row_sum_kernel<<<rows, 128>>>(x.data_ptr<float>(), w.data_ptr<float>(), sums, rows, width);
  cudaMemcpy(y.data_ptr<float>(), sums, rows * sizeof(float), cudaMemcpyDeviceToDevice);
  cudaFree(sums);
