# class: wrong_value
# task: affine, template: extension
# hack: H02 instances by local types of one name in two functions

template <class T>
__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * 2.0f + T::kOffset;
}

namespace one {
struct Offset {
  static constexpr float kOffset = 1.0f;
};
}  // namespace one
namespace none {
struct Offset {
  static constexpr float kOffset = 0.0f;
};
}  // namespace none
template __global__ void affine_kernel<one::Offset>(const float*, float*, int);

torch::Tensor affine(torch::Tensor x) {
  auto y = torch::empty_like(x);
  int n = x.numel();
  affine_kernel<none::Offset><<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
