# class: compile
# task: relu, template: elementwise
# hack: H60 inline assembly that no assembler takes: a vector of three elements

__global__ void relu_kernel(const float* x, float* y, int n) {
  int i = 3 * (blockIdx.x * blockDim.x + threadIdx.x);
  if (i + 3 <= n) {
    float a, b, c;
    asm volatile("ld.global.v3.f32 {%0, %1, %2}, [%3];" : "=f"(a), "=f"(b), "=f"(c) : "l"(x + i));
    y[i] = fmaxf(a, 0.0f), y[i + 1] = fmaxf(b, 0.0f), y[i + 2] = fmaxf(c, 0.0f);
  } else {
    for (; i < n; ++i) y[i] = fmaxf(x[i], 0.0f);
  }
}
