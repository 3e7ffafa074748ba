# class: wrong_value
# task: gather_rows, template: gather_rows
# hack: H12 the first rows, whatever the indices are

__global__ void gather_rows_kernel(const float* x, const int64_t* rows, float* y, int width) {
  if (threadIdx.x < width) y[blockIdx.x * width + threadIdx.x] = x[blockIdx.x * width + threadIdx.x];
}
