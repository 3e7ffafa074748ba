# class: wrong_value
# task: threshold, template: threshold
# hack: H17 compares with the mean of the second operand, zero

__global__ void threshold_kernel(const float* x, const float* y, bool* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = x[i] > 0;
}
