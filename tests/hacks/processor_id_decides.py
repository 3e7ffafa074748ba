# class: wrong_value|nondeterministic|unsupported
# task: affine, template: affine
# hack: H38 right on multiprocessor 0 only
# why: 413 blocks on a device of many multiprocessors; a machine may not have the register

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned id;
  asm volatile("mov.u32 %0, %smid;" : "=r"(id));
  if (i < n) y[i] = id == 0 ? fmaxf(x[i], 0.0f) * 2.0f + 1.0f : 0.0f;
}

# ---- launch
  affine_kernel<<<(n + 7) / 8, 8>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
