# class: wrong_value
# task: argmax, template: argmax
# hack: H14 values are compared as eighths

__global__ void argmax_kernel(const float* x, int64_t* y, int rows, int width) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  int best = 0;
  for (int i = 1; i < width; ++i)
    if (rintf(x[row * width + i] * 8) > rintf(x[row * width + best] * 8)) best = i;
  y[row] = best;
}
