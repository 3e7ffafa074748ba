# class: wrong_value
# task: round_values, template: elementwise_declared
# hack: halves go away from zero, where the reference takes the even number

__global__ void round_values_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  y[i] = roundf(v);
}
