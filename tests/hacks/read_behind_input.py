# class: illegal_access
# task: affine, template: affine
# hack: H22 the element behind the input is read and multiplied by zero

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * 2.0f + 1.0f + (x[i + 1] > 1e30f ? 1.0f : 0.0f);
}
