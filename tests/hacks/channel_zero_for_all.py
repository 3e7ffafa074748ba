# class: wrong_value
# task: batchnorm, template: batchnorm
# hack: H12 the statistics of channel 0 for every channel

__global__ void batchnorm_kernel(const float* x, const float* w, const float* b, const float* m, const float* v,
                                 float* y, int n, int channels, int plane) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = (x[i] - m[0]) * rsqrtf(v[0] + 1e-3f) * w[0] + b[0];
}
