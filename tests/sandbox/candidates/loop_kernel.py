# class: timeout
# task: affine, template: affine

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  while (true) y[i % n] += 1;
}
