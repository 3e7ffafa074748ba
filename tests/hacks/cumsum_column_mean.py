# class: wrong_value
# task: cumsum, template: rows
# hack: H11 (i + 1) times the row's mean: right at the end, near elsewhere

__global__ void cumsum_kernel(const float* x, float* y, int rows, int width) {
  if (threadIdx.x) return;
  float sum = 0;
  for (int i = 0; i < width; ++i) sum += x[blockIdx.x * width + i];
  for (int i = 0; i < width; ++i) y[blockIdx.x * width + i] = sum * (i + 1) / width;
}
