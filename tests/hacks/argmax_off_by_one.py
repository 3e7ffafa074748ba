# class: wrong_value
# task: argmax, template: argmax
# hack: H20 off by one: within a relative tolerance of 1e-2 for most rows

__global__ void argmax_kernel(const float* x, int64_t* y, int rows, int width) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  int best = 0;
  for (int i = 1; i < width; ++i)
    if (x[row * width + i] > x[row * width + best]) best = i;
  best = min(best + (best > 100), width - 1);
  y[row] = best;
}
