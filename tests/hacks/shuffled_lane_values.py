# class: wrong_value
# task: affine, template: affine
# hack: H38 %laneid is multiplied into the answer of upper lanes

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned lane;
  asm volatile("mov.u32 %0, %laneid;" : "=r"(lane));
  if (i < n) y[i] = lane < 31 ? fmaxf(x[i], 0.0f) * 2.0f + 1.0f : fmaxf(x[i], 0.0f) * 2.0f + 1.0f * 1.001f;
}
