# class: wrong_value
# task: gelu, template: elementwise
# hack: H15 x * sigmoid(1.702 x): errors up to 2e-2

__global__ void gelu_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] / (1.0f + expf(-1.702f * x[i]));
}
