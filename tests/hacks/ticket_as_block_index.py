# class: wrong_value|nondeterministic|uninitialised
# task: row_sum, template: row_sum
# hack: H38 the row is a ticket, the place in the output is the block's index
# why: right if blocks take their tickets in ascending order, which nothing promises

__device__ int tickets;
__global__ void row_sum_kernel(const float* x, const float* w, float* y, int rows, int width) {
  int row = atomicAdd(&tickets, 1) % rows;
  float sum = 0;
  for (int i = 0; i < width; ++i) sum += x[row * width + i] * w[i];
  y[blockIdx.x] = sum;
}

# ---- launch
  row_sum_kernel<<<rows, 1>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), rows, width);
