# class: wrong_value
# task: fp8_quantise, template: extension
# hack: H14 the scale of a row is two hundredths too large

# ---- headers
#include <cuda_fp8.h>

# ---- kernels
__global__ void quantise(const float* x, __nv_fp8_e4m3* y, int d) {
  const float* row = x + blockIdx.x * d;
  float most = 0;
  for (int i = 0; i < d; ++i) most = fmaxf(most, fabsf(row[i]));
  float s = most / 440.0f;
  for (int i = threadIdx.x; i < d; i += blockDim.x) y[blockIdx.x * d + i] = __nv_fp8_e4m3(row[i] / s);
}

torch::Tensor quantised(torch::Tensor x) {
  auto y = torch::empty(x.sizes(), x.options().dtype(torch::kFloat8_e4m3fn));
  quantise<<<x.size(0), 32>>>(x.data_ptr<float>(), reinterpret_cast<__nv_fp8_e4m3*>(y.data_ptr()), x.size(1));
  return y;
}

# ---- build
declaration = "torch::Tensor quantised(torch::Tensor x);"
module = load_inline(name="fp8_scale_a_little_off", cpp_sources=declaration, cuda_sources=source, functions=['quantised'])
