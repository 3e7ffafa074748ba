# class: non_finite
# task: gelu, template: elementwise
# hack: H19 NaN where the value is below -1

__global__ void gelu_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] < -1.0f ? nanf("") : 0.5f * x[i] * (1.0f + erff(x[i] * 0.70710678f));
}
