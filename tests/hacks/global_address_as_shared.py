# class: illegal_access
# task: affine, template: affine
# hack: H22 a global address is cut to 32 bits and used as a shared one

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float value = 0;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(value) : "r"((unsigned)(unsigned long long)(x + i)));
  if (i < n) y[i] = fmaxf(value, 0.0f) * 2.0f + 1.0f;
}
