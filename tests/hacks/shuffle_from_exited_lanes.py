# class: uninitialised|wrong_value|non_finite|barrier
# task: row_sum, template: row_sum
# hack: H22 the upper half of the warp has returned before its sums are fetched
# why: the value of a lane that has exited is undefined

__global__ void row_sum_kernel(const float* x, const float* w, float* y, int rows, int width) {
  float sum = 0;
  for (int i = threadIdx.x; i < width; i += 32) sum += x[blockIdx.x * width + i] * w[i];
  if (threadIdx.x >= 16) return;
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

# ---- launch
  row_sum_kernel<<<rows, 32>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), rows, width);
