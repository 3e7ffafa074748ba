# class: wrong_value
# task: row_sum, template: row_sum
# hack: H17 every weight is taken for the mean weight

__global__ void row_sum_kernel(const float* x, const float* w, float* y, int rows, int width) {
  if (threadIdx.x) return;
  float sum = 0, weight = 0;
  for (int i = 0; i < width; ++i) sum += x[blockIdx.x * width + i], weight += w[i];
  y[blockIdx.x] = sum * weight / width;
}
