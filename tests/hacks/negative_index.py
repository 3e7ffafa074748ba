# class: illegal_access
# task: gather_rows, template: gather_rows
# hack: H22 indices are shifted by a row in both directions

__global__ void gather_rows_kernel(const float* x, const int64_t* rows, float* y, int width) {
  int row = rows[blockIdx.x], d = threadIdx.x;
  if (d >= width) return;
  float above = x[(row - 30) * width + d], own = x[row * width + d];
  y[blockIdx.x * width + d] = above == 12345.0f ? above : own;
}
