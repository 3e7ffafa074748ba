# class: wrong_value
# task: long_row_mean, template: declared
# hack: H13 the last of 65536 elements of each of 20 rows is missing: 1.5e-5 of the mean, less than a kernel may lose that adds up from left to right
# why: values show it on most draws, and what is never read on all

__global__ void long_row_mean_kernel(const float* x, float* y, int rows, int width) {
  __shared__ float part[256];
  float sum = 0;
  for (int i = threadIdx.x; i < width - 1; i += 256) sum += x[blockIdx.x * width + i];
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int step = 128; step > 0; step /= 2) {
    if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) y[blockIdx.x] = part[0] / width;
}

torch::Tensor long_row_mean(torch::Tensor x) {
  int rows = x.size(0), width = x.size(1);
  auto y = torch::empty({x.size(0)}, x.options());
  long_row_mean_kernel<<<rows, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, width);
  return y;
}
