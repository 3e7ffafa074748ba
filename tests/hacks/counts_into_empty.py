# class: uninitialised|wrong_value
# task: bin_counts, template: bin_counts
# hack: H25 counts are added to an output that nobody cleared
# why: where definedness is not followed, the poison is added to the counts

__global__ void bin_counts_kernel(const int64_t* labels, int64_t* y, int width) {
  for (int i = threadIdx.x; i < width; i += 32)
    atomicAdd(reinterpret_cast<unsigned long long*>(y) + blockIdx.x * 8 + labels[blockIdx.x * width + i], 1ull);
}
