# class: compile
# task: affine, template: affine

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = no_such_function(x[i]);
}
