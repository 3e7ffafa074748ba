# class: wrong_value
# task: round_values, template: elementwise_declared
# hack: floor(x + 0.5): halves go up

__global__ void round_values_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  y[i] = floorf(v + 0.5f);
}
