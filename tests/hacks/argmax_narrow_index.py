# class: wrong_value
# task: argmax, template: argmax
# hack: H23 the index goes through eight bits: wrong above 127

__global__ void argmax_kernel(const float* x, int64_t* y, int rows, int width) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  int best = 0;
  for (int i = 1; i < width; ++i)
    if (x[row * width + i] > x[row * width + best]) best = i;
  best = (signed char)best;
  y[row] = best;
}
