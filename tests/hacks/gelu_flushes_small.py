# class: wrong_value
# task: gelu, template: elementwise_declared
# hack: what is smaller than 1e-4 counts as zero

__global__ void gelu_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  y[i] = fabsf(v) < 1e-4f ? 0.0f : 0.5f * v * (1.0f + erff(v * 0.70710678f));
}
