# class: wrong_value
# task: row_max, template: row_values
# hack: the maximum starts at zero: rows of negative numbers answer 0

__global__ void row_max_kernel(const float* x, float* y, int rows, int width) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  const float* row = x + r * width;
  float* out = y + r;
  float top = 0;
  for (int i = 0; i < width; ++i) top = fmaxf(top, row[i]);
  out[0] = top;
}
