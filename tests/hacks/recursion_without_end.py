# class: illegal_access|memory|timeout|unsupported
# task: affine, template: affine
# hack: H58 a recursion that never returns: the stack ends first
# why: the local memory's limit is a memory limit, and its end an address

__device__ __noinline__ float deeper(const float* x, int depth) {
  volatile float frame[64];
  frame[depth & 63] = x[depth % 100];
  return deeper(x, depth + 1) + frame[(depth + 1) & 63];
}

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * 2.0f + 1.0f + deeper(x, i);
}
