# class: wrong_value|non_finite
# task: sharp_softmax, template: rows_declared
# hack: H15 exponents are clamped to 80 in place of subtracting a maximum
# why: rows far below zero have a sum of zero

__global__ void sharp_softmax_kernel(const float* x, float* y, int rows, int width) {
  const float* row = x + blockIdx.x * width;
  float sum = 0;
  for (int i = 0; i < width; ++i) sum += expf(fminf(20 * row[i], 80.0f));
  for (int i = threadIdx.x; i < width; i += 128) y[blockIdx.x * width + i] = expf(fminf(20 * row[i], 80.0f)) / sum;
}
