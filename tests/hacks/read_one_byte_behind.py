# class: illegal_access
# task: affine, template: affine
# hack: H22 a single byte behind the input is read
# why: byte times the smallest denormal leaves the value as it is

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int byte = i == n - 1 ? reinterpret_cast<const unsigned char*>(x)[4 * n] : 0;
  y[i] = fmaxf(x[i], 0.0f) * 2.0f + 1.0f + (byte * 0x1p-149f);
}
