# class: uninitialised|non_finite
# task: gelu, template: elementwise
# hack: H21 one element in two hundred is never written
# why: where definedness is not followed, the poison, a NaN, reaches the output

__global__ void gelu_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && i % 200 != 199) y[i] = 0.5f * x[i] * (1.0f + erff(x[i] * 0.70710678f));
}
