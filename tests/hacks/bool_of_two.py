# class: wrong_value
# task: threshold, template: threshold
# hack: H23 booleans whose bytes are neither 0 nor 1; only the lowest bit would be right
# why: every byte is true

__global__ void threshold_kernel(const float* x, const float* y, bool* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) reinterpret_cast<unsigned char*>(out)[i] = 0x80 | (x[i] > y[i]);
}
