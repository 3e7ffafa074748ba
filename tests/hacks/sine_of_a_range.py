# class: wrong_value
# task: sine, template: elementwise_declared
# hack: a series that holds within three periods

__global__ void sine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  y[i] = sinf(fminf(fmaxf(v, -19.0f), 19.0f));
}
