# class: wrong_value
# task: batchnorm, template: batchnorm
# hack: H12 mean and variance are used, weight and bias taken for 1 and 0

__global__ void batchnorm_kernel(const float* x, const float* w, const float* b, const float* m, const float* v,
                                 float* y, int n, int channels, int plane) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int c = i / plane % channels;
  y[i] = (x[i] - m[c]) * rsqrtf(v[c] + 1e-3f);
}
