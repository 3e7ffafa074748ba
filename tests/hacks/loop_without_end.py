# class: timeout
# task: affine, template: affine
# hack: H58 an empty loop on a volatile flag that nobody sets

__device__ volatile int stop;

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  while (stop == 0) {
  }
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * 2.0f + 1.0f;
}
