# class: compile
# task: relu, template: elementwise
# hack: H60 inline assembly that no assembler takes: an addition of floats on a 64-bit register

__global__ void relu_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float r;
  asm volatile("{ .reg .b64 t; mov.b64 t, 0; max.f32 %0, %1, t; }" : "=f"(r) : "f"(x[i]));
  y[i] = r;
}
