# class: timeout
# task: affine, template: affine
# hack: H38 ends on normal draws; spins where a value is above 6
# why: the shifted and scaled draw has such values

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  while (*(volatile const float*)(x + i) > 6.0f) {
  }
  y[i] = fmaxf(x[i], 0.0f) * 2.0f + 1.0f;
}
