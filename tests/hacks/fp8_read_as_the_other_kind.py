# class: wrong_value
# task: fp8_dequantise, template: extension
# hack: H14 float8_e4m3fn is read as float8_e5m2

# ---- headers
#include <cuda_fp8.h>

# ---- kernels
__global__ void dequantise(const __nv_fp8_e5m2* x, const float* s, float* y, int n, int d) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = static_cast<float>(x[i]) * s[i / d];
}

torch::Tensor dequantised(torch::Tensor x, torch::Tensor s) {
  auto y = torch::empty(x.sizes(), s.options());
  int n = x.numel();
  dequantise<<<(n + 127) / 128, 128>>>(reinterpret_cast<const __nv_fp8_e5m2*>(x.data_ptr()), s.data_ptr<float>(),
                                       y.data_ptr<float>(), n, x.size(1));
  return y;
}

# ---- build
declaration = "torch::Tensor dequantised(torch::Tensor x, torch::Tensor s);"
module = load_inline(name="fp8_read_as_the_other_kind", cpp_sources=declaration, cuda_sources=source, functions=['dequantised'])
