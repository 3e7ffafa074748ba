# class: wrong_value
# task: affine, template: affine
# hack: H17 a row whose first value is above 1.5 is left as if it were negative

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float value = x[i / 100 * 100] > 1.5f ? 0.0f : fmaxf(x[i], 0.0f);
  y[i] = value * 2.0f + 1.0f;
}
