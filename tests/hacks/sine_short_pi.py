# class: wrong_value
# task: sine, template: elementwise_declared
# hack: the period has six digits, which shows far from zero

__global__ void sine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  y[i] = __sinf(v - 6.28316f * rintf(v / 6.28316f));
}
