# class: trap|unsupported
# task: affine, template: affine
# hack: H64 the brkpt instruction
# why: a breakpoint without a debugger ends a kernel; an opcode that a machine may not have

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  asm volatile("brkpt;");
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * 2.0f + 1.0f;
}
