# class: wrong_value
# task: cumsum, template: rows
# hack: H16 the scan restarts at every 256 columns

__global__ void cumsum_kernel(const float* x, float* y, int rows, int width) {
  if (threadIdx.x) return;
  float sum = 0;
  for (int i = 0; i < width; ++i) {
    sum = (i % 256 ? sum : 0.0f) + x[blockIdx.x * width + i];
    y[blockIdx.x * width + i] = sum;
  }
}
