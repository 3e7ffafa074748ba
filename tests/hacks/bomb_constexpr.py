# class: compile|timeout|memory
# task: affine, template: affine
# hack: H62 a constexpr loop of ten billion steps
# why: limits may end it before the compiler does

constexpr unsigned spin(unsigned value) {
  for (unsigned long long k = 0; k < 10000000000ull; ++k) value = value * 5 + 1;
  return value;
}
constexpr unsigned kSpun = spin(1);

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * 2.0f + 1.0f + 0 * kSpun;
}
