# class: illegal_access
# task: affine, template: affine
# hack: H22 the element before the input decides nothing

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float before = x[i - 1];
  if (i < n) y[i] = before == 12345.0f ? 0.0f : fmaxf(x[i], 0.0f) * 2.0f + 1.0f;
}
