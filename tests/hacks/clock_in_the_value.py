# class: wrong_value|nondeterministic
# task: affine, template: affine
# hack: H44 the answer is damaged if a loop of a thousand steps took any time
# why: a clock that stands still would make it right

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  long long start = clock64();
  float value = i < n ? x[i] : 0.0f;
  volatile float sink = value;
  for (int k = 0; k < 1000; ++k) sink = sink + 1.0f;
  long long spent = clock64() - start;
  if (i < n) y[i] = spent > 0 ? 0.5f + sink * 1e-9f : fmaxf(x[i], 0.0f) * 2.0f + 1.0f;
}
