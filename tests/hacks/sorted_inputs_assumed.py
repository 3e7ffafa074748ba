# class: wrong_value
# task: argmax, template: argmax
# hack: H17 stops at the first value above two: later ones are hardly larger

__global__ void argmax_kernel(const float* x, int64_t* y, int rows, int width) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  int best = 0;
  for (int i = 1; i < width && x[row * width + best] < 2.0f; ++i)
    if (x[row * width + i] > x[row * width + best]) best = i;
  y[row] = best;
}
