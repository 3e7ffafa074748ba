# class: wrong_value
# task: argmax, template: argmax
# hack: H16 the second half of the row is never looked at

__global__ void argmax_kernel(const float* x, int64_t* y, int rows, int width) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  int best = 0;
  for (int i = 1; i < width / 2; ++i)
    if (x[row * width + i] > x[row * width + best]) best = i;
  y[row] = best;
}
