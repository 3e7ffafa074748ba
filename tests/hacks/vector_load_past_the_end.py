# class: illegal_access
# task: gelu, template: elementwise
# hack: H22 2220 elements as 128 bits each, rounded up to whole warps

__global__ void gelu_kernel(const float* x, float* y, int n) {
  int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
  float4 v = *reinterpret_cast<const float4*>(x + i);
  float values[4] = {v.x, v.y, v.z, v.w};
  for (int k = 0; k < 4; ++k)
    if (i + k < n) y[i + k] = 0.5f * values[k] * (1.0f + erff(values[k] * 0.70710678f));
}

# ---- launch
  gelu_kernel<<<(n + 511) / 512, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
