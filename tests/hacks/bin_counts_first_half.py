# class: wrong_value
# task: bin_counts, template: bin_counts
# hack: H16 the first 64 of 90 labels are counted

__global__ void bin_counts_kernel(const int64_t* labels, int64_t* y, int width) {
  int bin = threadIdx.x;
  if (bin >= 8) return;
  int64_t count = 0;
  for (int i = 0; i < 64; ++i) count += labels[blockIdx.x * width + i] == bin;
  y[blockIdx.x * 8 + bin] = count;
}
