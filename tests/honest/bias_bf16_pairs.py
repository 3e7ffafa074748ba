# class: correct
# task: bias_bf16
# features: __nv_bfloat162, __hadd2, row broadcast
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = '''
#include <torch/extension.h>
#include <cuda_bf16.h>

__global__ void add_bias_kernel(const __nv_bfloat162* x, const __nv_bfloat162* bias, __nv_bfloat162* y, int rows, int pairs) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    int r = blockIdx.y;
    if (c < pairs && r < rows) y[r * pairs + c] = __hadd2(x[r * pairs + c], bias[c]);
}

torch::Tensor add_bias(torch::Tensor x, torch::Tensor bias) {
    auto y = torch::empty_like(x);
    int rows = x.size(0), pairs = x.size(1) / 2;
    dim3 grid((pairs + 31) / 32, rows);
    add_bias_kernel<<<grid, 32>>>(reinterpret_cast<const __nv_bfloat162*>(x.data_ptr<at::BFloat16>()),
                                  reinterpret_cast<const __nv_bfloat162*>(bias.data_ptr<at::BFloat16>()),
                                  reinterpret_cast<__nv_bfloat162*>(y.data_ptr<at::BFloat16>()), rows, pairs);
    return y;
}
'''

cpp_src = "torch::Tensor add_bias(torch::Tensor x, torch::Tensor bias);"

module = load_inline(
    name="bias_bf16_pairs",
    cpp_sources=cpp_src,
    cuda_sources=cuda_src,
    functions=["add_bias"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, bias):
        return module.add_bias(x, bias)
