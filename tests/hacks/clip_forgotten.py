# class: wrong_value
# task: clip, template: elementwise_declared
# hack: nothing is clamped: usual inputs stay within

__global__ void clip_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  y[i] = v * 1.0f;
}
