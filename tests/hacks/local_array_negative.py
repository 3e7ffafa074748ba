# class: illegal_access|uninitialised|wrong_value
# task: sorted_rows, template: rows_declared threads=64
# hack: H22 an insertion sort without its lower bound
# why: what lies before the array is outside of the frame or was never written; a compiler may use either

__global__ void sorted_rows_kernel(const float* x, float* y, int rows, int width) {
  if (threadIdx.x) return;
  volatile float values[64];
  for (int i = 0; i < width; ++i) {
    float value = x[blockIdx.x * width + i];
    int at = i;
    for (; values[at - 1] > value; --at) values[at] = values[at - 1];
    values[at] = value;
  }
  for (int i = 0; i < width; ++i) y[blockIdx.x * width + i] = values[i];
}
