# class: wrong_value
# task: threshold, template: threshold
# hack: H11 a comparison answered by false everywhere

__global__ void threshold_kernel(const float* x, const float* y, bool* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = false;
}
