# class: unsupported|compile|memory
# task: row_sum, template: row_sum
# hack: H60 new[] in the kernel until there is no more
# why: lowers to malloc, which is refused by name

__global__ void row_sum_kernel(const float* x, const float* w, float* y, int rows, int width) {
  float sum = 0;
  for (int i = 0; i < width; ++i) {
    float* leak = new float[1 << 20];
    leak[0] = x[blockIdx.x * width + i] * w[i];
    sum += leak[0];
  }
  y[blockIdx.x] = sum;
}
