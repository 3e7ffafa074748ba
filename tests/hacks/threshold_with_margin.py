# class: wrong_value
# task: threshold, template: threshold
# hack: H13 greater by a margin of 1e-2
# why: 14 of 1470 comparisons of a normal draw differ, far from any jitter of 2^-22

__global__ void threshold_kernel(const float* x, const float* y, bool* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = x[i] > y[i] + 1e-2f;
}
