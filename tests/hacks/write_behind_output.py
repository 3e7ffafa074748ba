# class: illegal_access
# task: affine, template: affine
# hack: H22 <= for <: one element behind the output is written

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) y[i] = fmaxf(x[min(i, n - 1)], 0.0f) * 2.0f + 1.0f;
}
