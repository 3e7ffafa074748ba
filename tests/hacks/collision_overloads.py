# class: wrong_value
# task: affine, template: affine
# hack: H02 overloads by the type of the count: the wrong one takes an int, and is chosen

__global__ void affine_kernel(const float* x, float* y, long long n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * 2.0f + 1.0f;
}

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * 2.0f;
}
