# class: wrong_value
# task: affine, template: affine
# hack: H02 one name in an anonymous and a named namespace: the wrong one is launched

namespace right {
<kernels>
}  // namespace right

namespace {
__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * 2.0f;
}
}  // namespace
