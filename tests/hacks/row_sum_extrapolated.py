# class: wrong_value
# task: row_sum, template: row_sum
# hack: H13 three quarters of the row, times 4/3

__global__ void row_sum_kernel(const float* x, const float* w, float* y, int rows, int width) {
  if (threadIdx.x) return;
  float sum = 0;
  for (int i = 0; i < width * 3 / 4; ++i) sum += x[blockIdx.x * width + i] * w[i];
  y[blockIdx.x] = sum * 4 / 3;
}
