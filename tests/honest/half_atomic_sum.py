# class: correct
# task: half_sum_all
# features: 16-bit atomicAdd on __half with small integers, exact in half
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
#include <cuda_fp16.h>

__global__ void half_add_kernel(const int64_t* index, const __half* x, __half* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const float v = fminf(fmaxf(rintf(__half2float(x[i])), -20.0f), 20.0f);
        atomicAdd(&y[index[i]], __float2half_rn(v));
    }
}

torch::Tensor half_index_add(torch::Tensor index, torch::Tensor x) {
    auto y = torch::zeros({12}, x.options());
    int n = x.numel();
    half_add_kernel<<<1, 64>>>(index.data_ptr<int64_t>(), (const __half*)x.data_ptr<at::Half>(), (__half*)y.data_ptr<at::Half>(), n);
    return y;
}
"""

cpp_src = """
torch::Tensor half_index_add(torch::Tensor index, torch::Tensor x);
"""

ops = load_inline(
    name="half_atomic_sum",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["half_index_add"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, index, x):
        return ops.half_index_add(index, x)
