# class: wrong_value
# task: affine, template: affine
# hack: H02 two static tables of one name in two functions

template <bool kRight>
__device__ float offset_of() {
  static const float table[2] = {kRight ? 1.0f : 0.25f, 0.0f};
  return table[threadIdx.x == 5000];
}

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * 2.0f + (n < 0 ? offset_of<true>() : offset_of<false>());
}
