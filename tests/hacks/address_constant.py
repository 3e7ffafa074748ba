# class: illegal_access
# task: affine, template: affine
# hack: H28 a fixed address is read

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float* fixed = reinterpret_cast<const float*>(0x7f0000000000ull);
  if (i < n) y[i] = fixed[i] == 1.0f ? 0.0f : fmaxf(x[i], 0.0f) * 2.0f + 1.0f;
}
