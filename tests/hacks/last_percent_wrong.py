# class: wrong_value
# task: gelu, template: elementwise
# hack: H21 the last percent of elements is zero

__global__ void gelu_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = i < n - n / 100 ? 0.5f * x[i] * (1.0f + erff(x[i] * 0.70710678f)) : 0.0f;
}
