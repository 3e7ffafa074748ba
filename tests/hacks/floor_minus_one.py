# class: wrong_value
# task: floor_values, template: elementwise_declared
# hack: truncates and subtracts one below zero: negative whole numbers are off by one

__global__ void floor_values_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  y[i] = (float)((int)v - (v < 0));
}
