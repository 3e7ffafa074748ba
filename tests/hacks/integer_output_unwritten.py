# class: uninitialised|wrong_value
# task: argmax, template: argmax
# hack: H25 rows after the first 32 are never written: integers have no NaN
# why: where definedness is not followed, the poison is an index that is wrong

__global__ void argmax_kernel(const float* x, int64_t* y, int rows, int width) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  int best = 0;
  for (int i = 1; i < width; ++i)
    if (x[row * width + i] > x[row * width + best]) best = i;
  y[row] = best;
}

# ---- launch
  argmax_kernel<<<1, 32>>>(x.data_ptr<float>(), y.data_ptr<int64_t>(), rows, width);
