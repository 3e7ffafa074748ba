# class: wrong_value
# task: gelu, template: elementwise
# hack: H17 a Taylor polynomial: right near zero only

__global__ void gelu_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i], s = v * v;
  float cdf = 0.5f + v * (0.39894228f + s * (-0.06649038f + s * (0.00997356f - s * 0.00118733f)));
  y[i] = v * cdf;
}
