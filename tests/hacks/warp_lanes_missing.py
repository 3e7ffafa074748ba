# class: uninitialised|wrong_value|non_finite|barrier
# task: row_sum, template: row_sum
# hack: H22 twenty lanes shuffle with a full mask: the values of twelve that do not exist are added
# why: what a lane reads from one that does not exist is undefined

__global__ void row_sum_kernel(const float* x, const float* w, float* y, int rows, int width) {
  float sum = 0;
  for (int i = threadIdx.x; i < width; i += 20) sum += x[blockIdx.x * width + i] * w[i];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

# ---- launch
  row_sum_kernel<<<rows, 20>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), rows, width);
