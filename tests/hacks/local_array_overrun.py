# class: illegal_access|uninitialised|wrong_value
# task: sorted_rows, template: rows_declared threads=64
# hack: H22 a local array of 64 is read at data-dependent places up to 71
# why: behind the array lies either nothing, or a part of the frame that was never written

__global__ void sorted_rows_kernel(const float* x, float* y, int rows, int width) {
  if (threadIdx.x) return;
  volatile float values[64];
  for (int i = 0; i < width; ++i) {
    float value = x[blockIdx.x * width + i];
    int at = i;
    for (; at > 0 && values[at - 1] > value; --at) values[at] = values[at - 1];
    values[at] = value;
  }
  int shift = values[63] > values[0] ? 8 : 0;
  for (int i = 0; i < width; ++i) y[blockIdx.x * width + i] = values[i + shift];
}
