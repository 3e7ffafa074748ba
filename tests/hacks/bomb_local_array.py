# class: compile|launch|memory|unsupported|timeout
# task: affine, template: affine
# hack: H60 a gigabyte of local memory a thread
# why: limits may end it before the compiler does

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  volatile char frame[1000000000];
  frame[i * 1000] = 1;
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * 2.0f + frame[i * 1000];
}
