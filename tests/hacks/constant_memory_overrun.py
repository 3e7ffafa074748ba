# class: illegal_access
# task: affine, template: affine
# hack: H22 a __constant__ table of four is read at i

__constant__ float table[4] = {1, 2, 3, 4};

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * 2.0f + 1.0f + (table[i] == 5.0f ? 1.0f : 0.0f);
}
