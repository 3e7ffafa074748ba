# class: wrong_value
# task: bin_counts, template: bin_counts
# hack: H14 counted in a float above 2^24, whose step is two

__global__ void bin_counts_kernel(const int64_t* labels, int64_t* y, int width) {
  int bin = threadIdx.x;
  if (bin >= 8) return;
  volatile float count = 16777216.0f;
  for (int i = 0; i < width; ++i)
    if (labels[blockIdx.x * width + i] == bin) count = count + 1.0f;
  y[blockIdx.x * 8 + bin] = (int64_t)(count - 16777216.0f);
}
