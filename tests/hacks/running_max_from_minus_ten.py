# class: wrong_value
# task: running_max, template: row_threads
# hack: the running maximum starts at minus ten

__global__ void running_max_kernel(const float* x, float* y, int rows, int width) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  const float* row = x + r * width;
  float* out = y + r * width;
  float top = -10;
  for (int i = 0; i < width; ++i) {
    top = fmaxf(top, row[i]);
    out[i] = top;
  }
}
