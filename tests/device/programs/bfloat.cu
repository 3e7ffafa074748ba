#include <cuda_bf16.h>
#include <torch/extension.h>
__global__ void axpy(const __nv_bfloat16* x, __nv_bfloat16* y, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __float2bfloat16(a * __bfloat162float(x[i]) + __bfloat162float(y[i]));
}
torch::Tensor forward(torch::Tensor x, torch::Tensor y, float a) {
  axpy<<<1, 256>>>((const __nv_bfloat16*)x.data_ptr<at::BFloat16>(),
                   (__nv_bfloat16*)y.data_ptr<at::BFloat16>(), a, (int)x.numel());
  return y;
}
