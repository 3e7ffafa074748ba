#include <cuda_fp16.h>
#include <torch/extension.h>
__global__ void relu(const __half2* x, __half2* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __hmax2(x[i], __float2half2_rn(0.f));
}
__global__ void mixed(const c10::Half* x, c10::Half* y) {
  __half h = x[threadIdx.x];
  y[threadIdx.x] = h;
  y[threadIdx.x] += x[0];
}
torch::Tensor forward(torch::Tensor x) {
  auto y = torch::empty_like(x);
  relu<<<4, 64>>>(reinterpret_cast<__half2*>(x.data_ptr()), reinterpret_cast<__half2*>(y.data_ptr()),
                  x.numel() / 2);
  mixed<<<1, 32>>>(x.data_ptr<c10::Half>(), y.data_ptr<c10::Half>());
  return y;
}
