# class: illegal_access|host_read|record
# task: affine, template: affine
# hack: H22 a pointer to the host's stack is handed to the kernel
# why: the machine has no such buffer; a recorder may refuse the argument before

__global__ void affine_kernel(const float* x, const float* two, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * two[0] + 1.0f;
}

# ---- launch
  float two[1] = {2.0f};
  affine_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), two, y.data_ptr<float>(), n);
