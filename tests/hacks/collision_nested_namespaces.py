# class: wrong_value
# task: affine, template: affine
# hack: H02 a::b::kernel and a::c::kernel: the wrong one through a using directive

namespace a::b {
<kernels>
}  // namespace a::b

namespace a::c {
__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * 2.0f;
}
}  // namespace a::c

# ---- host
using namespace a::c;

<host>
