# class: wrong_value
# task: ceil_values, template: elementwise_declared
# hack: the floor and one: whole numbers are off by one

__global__ void ceil_values_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  y[i] = floorf(v) + 1.0f;
}
