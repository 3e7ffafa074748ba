# class: wrong_value
# task: cumsum, template: rows
# hack: H12 an exclusive scan

__global__ void cumsum_kernel(const float* x, float* y, int rows, int width) {
  if (threadIdx.x) return;
  float sum = 0;
  for (int i = 0; i < width; ++i) {
    y[blockIdx.x * width + i] = sum;
    sum += x[blockIdx.x * width + i];
  }
}
