#include <torch/extension.h>
__global__ void add4(const float4* __restrict__ a, const float4* __restrict__ b, float4* c, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float4 u = __ldg(a + i), v = b[i];
    c[i] = make_float4(u.x + v.x, u.y + v.y, u.z + v.z, u.w + v.w);
  }
}
torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
  torch::Tensor c = torch::empty_like(a);
  int64_t n = a.numel() / 4;
  dim3 grid(std::min<int64_t>((n + 255) / 256, 65535));
  add4<<<grid, 256>>>(reinterpret_cast<const float4*>(a.data_ptr<float>()),
                      reinterpret_cast<const float4*>(b.data_ptr<float>()),
                      reinterpret_cast<float4*>(c.data_ptr<float>()), n);
  return c;
}
