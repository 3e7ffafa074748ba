# class: wrong_value
# task: row_min, template: row_values
# hack: the minimum starts at two

__global__ void row_min_kernel(const float* x, float* y, int rows, int width) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  const float* row = x + r * width;
  float* out = y + r;
  float least = 2;
  for (int i = 0; i < width; ++i) least = fminf(least, row[i]);
  out[0] = least;
}
