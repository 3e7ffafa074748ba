# class: timeout
# task: affine, template: affine
# hack: H58 a loop that ends, after 2^40 steps

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned state = i;
  for (long long k = 0; k < 1ll << 40; ++k) state = state * 1664525u + 1013904223u;
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * 2.0f + 1.0f + (state == 1 ? 1.0f : 0.0f);
}
