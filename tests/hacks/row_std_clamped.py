# class: wrong_value
# task: row_std, template: row_values
# hack: the variance counts as 1e-8 at least

__global__ void row_std_kernel(const float* x, float* y, int rows, int width) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  const float* row = x + r * width;
  float* out = y + r;
  float sum = 0, squares = 0;
  for (int i = 0; i < width; ++i) sum += row[i];
  for (int i = 0; i < width; ++i) squares += (row[i] - sum / width) * (row[i] - sum / width);
  out[0] = sqrtf(fmaxf(squares / (width - 1), 1e-8f));
}
