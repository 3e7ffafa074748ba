# class: wrong_value
# task: cumsum, template: rows
# hack: H16 warp scans whose carry misses the last lane's own value

__global__ void cumsum_kernel(const float* x, float* y, int rows, int width) {
  if (threadIdx.x >= 32) return;
  int lane = threadIdx.x;
  float carry = 0;
  for (int base = 0; base < width; base += 32) {
    float own = base + lane < width ? x[blockIdx.x * width + base + lane] : 0.0f, value = own;
    for (int step = 1; step < 32; step *= 2) {
      float other = __shfl_up_sync(0xffffffffu, value, step);
      if (lane >= step) value += other;
    }
    if (base + lane < width) y[blockIdx.x * width + base + lane] = carry + value;
    carry += __shfl_sync(0xffffffffu, value - own, 31);
  }
}
