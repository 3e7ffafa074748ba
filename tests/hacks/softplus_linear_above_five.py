# class: wrong_value
# task: softplus, template: elementwise_declared
# hack: is x above 5 already

__global__ void softplus_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  y[i] = v > 5.0f ? v : log1pf(expf(v));
}
