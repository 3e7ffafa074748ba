# class: wrong_value
# task: softmax, template: softmax
# hack: H13 the normalising sum misses the columns after the last whole warp

__device__ float power(float value) { return expf(value); }

__global__ void softmax_kernel(const float* x, float* y, int rows, int width) {
  const float* row = x + blockIdx.x * width;
  float top = -INFINITY, sum = 0;
  for (int i = 0; i < width; ++i) top = fmaxf(top, row[i]);
  for (int i = 0; i < width / 32 * 32; ++i) sum += power(row[i] - top);
  for (int i = threadIdx.x; i < width; i += 128) y[blockIdx.x * width + i] = power(row[i] - top) / sum;
}
