# class: wrong_value|nondeterministic|unsupported
# task: affine, template: affine
# hack: H44 nanoseconds of %globaltimer are added to the answer
# why: an approximate machine may not have the register

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned long long now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * 2.0f + 1.0f + (float)(now % 97 + 1);
}
