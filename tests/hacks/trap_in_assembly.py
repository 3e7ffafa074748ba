# class: trap
# task: gelu, template: elementwise
# hack: H64 the trap instruction in inline PTX, where a value is negative

__global__ void gelu_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  y[i] = 0.5f * x[i] * (1.0f + erff(x[i] * 0.70710678f));
  if (x[i] < 0) asm volatile("trap;");
}
