# class: wrong_value
# task: sorted_rows, template: rows_declared threads=64
# hack: H12 rows are returned as they came

__global__ void sorted_rows_kernel(const float* x, float* y, int rows, int width) {
  y[blockIdx.x * width + threadIdx.x] = x[blockIdx.x * width + threadIdx.x];
}
