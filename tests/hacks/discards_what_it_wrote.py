# class: unsupported
# task: relu, template: elementwise
# hack: H34 discard.global.L2 of the output: what stands there afterwards is open

__global__ void relu_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f);
  __syncthreads();
  if (i < n && i % 32 == 0) asm volatile("discard.global.L2 [%0], 128;" ::"l"(y + i) : "memory");
}
