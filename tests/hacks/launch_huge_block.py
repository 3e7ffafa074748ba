# class: launch
# task: softmax, template: softmax threads=2048
# hack: H22 2048 threads in a block, the error is not looked at

__global__ void softmax_kernel(const float* x, float* y, int rows, int width) {
  __shared__ float part[2048];
  const float* row = x + blockIdx.x * width;
  float top = -INFINITY;
  for (int i = threadIdx.x; i < width; i += 2048) top = fmaxf(top, row[i]);
  part[threadIdx.x] = top;
  __syncthreads();
  for (int step = 1024; step > 0; step /= 2) {
    if (threadIdx.x < step) part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + step]);
    __syncthreads();
  }
  top = part[0];
  __syncthreads();
  float sum = 0;
  for (int i = threadIdx.x; i < width; i += 2048) sum += expf(row[i] - top);
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int step = 1024; step > 0; step /= 2) {
    if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
    __syncthreads();
  }
  for (int i = threadIdx.x; i < width; i += 2048) y[blockIdx.x * width + i] = expf(row[i] - top) / part[0];
}
