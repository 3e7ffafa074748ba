# class: wrong_value|non_finite|uninitialised
# task: affine, template: affine

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < 256) y[i] = fmaxf(x[i], 0.0f) * 2.0f + 1.0f;
}
