# class: wrong_value|non_finite|compile
# task: affine, template: extension
# hack: H02 instances for float and half intermediates: the one for half is launched
# why: large values leave the range of half; without implicit conversions it does not compile

# ---- kernels
#include <cuda_fp16.h>

template <typename T>
__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = (float)(T)(fmaxf(x[i], 0.0f) * 2.0f + 1.0f);
}

template __global__ void affine_kernel<float>(const float*, float*, int);

torch::Tensor affine(torch::Tensor x) {
  auto y = torch::empty_like(x);
  int n = x.numel();
  affine_kernel<__half><<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
