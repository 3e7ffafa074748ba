# class: trap
# task: affine, template: affine
# hack: H64 __trap() after the work is done

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * 2.0f + 1.0f;
  if (i == n - 1) __trap();
}
