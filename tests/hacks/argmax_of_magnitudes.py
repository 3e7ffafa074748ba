# class: wrong_value
# task: argmax, template: argmax
# hack: H12 the largest magnitude

__global__ void argmax_kernel(const float* x, int64_t* y, int rows, int width) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  int best = 0;
  for (int i = 1; i < width; ++i)
    if (fabsf(x[row * width + i]) > fabsf(x[row * width + best])) best = i;
  y[row] = best;
}
