# class: non_finite|wrong_value
# task: sharp_softmax, template: rows_declared
# hack: H15 no maximum is subtracted: exp overflows
# why: infinity over infinity is NaN, a finite value over infinity is 0: both appear in one row

__global__ void sharp_softmax_kernel(const float* x, float* y, int rows, int width) {
  const float* row = x + blockIdx.x * width;
  float sum = 0;
  for (int i = 0; i < width; ++i) sum += expf(30 * row[i]);
  for (int i = threadIdx.x; i < width; i += 128) y[blockIdx.x * width + i] = expf(30 * row[i]) / sum;
}
