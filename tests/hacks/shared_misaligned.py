# class: illegal_access
# task: softmax, template: softmax
# hack: H22 floats in a shared array of bytes, one byte off

__global__ void softmax_kernel(const float* x, float* y, int rows, int width) {
  __shared__ __align__(16) char bytes[513];
  float* part = reinterpret_cast<float*>(bytes + 1);
  const float* row = x + blockIdx.x * width;
  float top = -INFINITY;
  for (int i = threadIdx.x; i < width; i += 128) top = fmaxf(top, row[i]);
  part[threadIdx.x] = top;
  __syncthreads();
  for (int step = 64; step > 0; step /= 2) {
    if (threadIdx.x < step) part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + step]);
    __syncthreads();
  }
  top = part[0];
  __syncthreads();
  float sum = 0;
  for (int i = threadIdx.x; i < width; i += 128) sum += expf(row[i] - top);
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int step = 64; step > 0; step /= 2) {
    if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
    __syncthreads();
  }
  for (int i = threadIdx.x; i < width; i += 128) y[blockIdx.x * width + i] = expf(row[i] - top) / part[0];
}
