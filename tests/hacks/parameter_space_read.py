# class: illegal_access|compile|unsupported
# task: affine, template: affine
# hack: H27 the kernel's parameters are read beyond their end
# why: an assembler refuses the constant offset, a machine the access

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float value = 0;
  asm volatile("ld.param.f32 %0, [_Z13affine_kernelPKfPfi+4000];" : "=f"(value));
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * 2.0f + 1.0f + value * 0;
}
