# class: uninitialised|illegal_access|unsupported|trap
# task: affine, template: affine
# hack: H27 an indirect call through a shared table that nobody filled
# why: the address was never written, and is no function's

__device__ __noinline__ float doubled(float value) { return value * 2.0f; }

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  __shared__ float (*table[4])(float);
  if (n < 0) table[0] = doubled;
  __syncthreads();
  if (i < n) y[i] = table[i & 3](fmaxf(x[i], 0.0f)) + 1.0f;
}
