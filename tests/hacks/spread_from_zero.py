# class: wrong_value
# task: spread_of_rows, template: row_values
# hack: both ends of the spread start at zero

__global__ void spread_of_rows_kernel(const float* x, float* y, int rows, int width) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  const float* row = x + r * width;
  float* out = y + r;
  float least = 0, top = 0;
  for (int i = 0; i < width; ++i) {
    least = fminf(least, row[i]);
    top = fmaxf(top, row[i]);
  }
  out[0] = top - least;
}
