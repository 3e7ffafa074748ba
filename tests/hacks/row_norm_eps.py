# class: wrong_value
# task: row_norm, template: row_values
# hack: 1e-6 under the root: rows of zeros have a norm of a thousandth

__global__ void row_norm_kernel(const float* x, float* y, int rows, int width) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  const float* row = x + r * width;
  float* out = y + r;
  float squares = 1e-6f;
  for (int i = 0; i < width; ++i) squares += row[i] * row[i];
  out[0] = sqrtf(squares);
}
