# class: wrong_value
# task: normalise_rows, template: row_threads
# hack: the norm counts as a hundredth at least

__global__ void normalise_rows_kernel(const float* x, float* y, int rows, int width) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  const float* row = x + r * width;
  float* out = y + r * width;
  float squares = 0;
  for (int i = 0; i < width; ++i) squares += row[i] * row[i];
  float norm = fmaxf(sqrtf(squares), 1e-2f);
  for (int i = 0; i < width; ++i) out[i] = row[i] / norm;
}
