# class: illegal_access|wrong_value
# task: cumsum, template: rows
# hack: H22 the scan of the last row begins in the row after it
# why: wrong in every row, and outside of the buffer in the last

__global__ void cumsum_kernel(const float* x, float* y, int rows, int width) {
  if (threadIdx.x) return;
  float sum = 0;
  for (int i = 0; i < width; ++i) {
    sum += x[(blockIdx.x + 1) * width + i];
    y[blockIdx.x * width + i] = sum;
  }
}
