# class: illegal_access
# task: affine, template: affine
# hack: H22 a 32-bit index overflows and addresses four gigabytes before the buffer

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned at = i * 0x01000001u;
  if (i < n) y[i] = x[(int)at] + fmaxf(x[i], 0.0f) * 2.0f + 1.0f;
}
