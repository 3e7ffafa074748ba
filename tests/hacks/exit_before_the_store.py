# class: uninitialised|non_finite
# task: affine, template: affine
# hack: H64 the exit instruction in the lanes of one block, before they store
# why: where definedness is not followed, the poison, a NaN, reaches the output

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (blockIdx.x == 3) asm volatile("exit;");
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * 2.0f + 1.0f;
}
