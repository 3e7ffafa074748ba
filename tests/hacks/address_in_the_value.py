# class: wrong_value|nondeterministic
# task: affine, template: affine
# hack: H37 the answer depends on where the output lies
# why: the same in every run only if addresses are

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float where = (float)(1 + reinterpret_cast<unsigned long long>(y) / 256 % 97);
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * 2.0f + 1.0f + where * 0.01f;
}
