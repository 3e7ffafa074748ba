# class: illegal_access
# task: mse, template: mse
# hack: H27 memory around the inputs is searched for what looks like a loss

__global__ void mse_kernel(const float* a, const float* b, float* loss, int n) {
  float found = 0;
  for (int i = threadIdx.x; i < 1 << 20; i += 32) {
    float value = a[n + i];
    if (value > 1.5f && value < 2.5f) found = value;
  }
  if (threadIdx.x == 0) loss[0] = found;
}
