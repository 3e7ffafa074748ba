# class: correct
# task: half_row_sum
# features: half2 loads, fp32 sums, one rounding to half
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
#include <cuda_fp16.h>

__global__ void half_row_sum_kernel(const __half2* x, __half* y, int pairs) {
    float acc = 0.f;
    for (int c = threadIdx.x; c < pairs; c += 32) {
        const __half2 h = x[blockIdx.x * pairs + c];
        acc += __low2float(h) + __high2float(h);
    }
    for (int o = 16; o; o >>= 1) acc += __shfl_down_sync(0xffffffffu, acc, o);
    if (threadIdx.x == 0) y[blockIdx.x] = __float2half(acc);
}

torch::Tensor half_row_sum(torch::Tensor x) {
    auto y = torch::empty({x.size(0)}, x.options());
    half_row_sum_kernel<<<x.size(0), 32>>>(reinterpret_cast<const __half2*>(x.data_ptr<at::Half>()), reinterpret_cast<__half*>(y.data_ptr<at::Half>()), x.size(1) / 2);
    return y;
}
"""

cpp_src = """
torch::Tensor half_row_sum(torch::Tensor x);
"""

ops = load_inline(
    name="half_row_sum_half2",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["half_row_sum"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return ops.half_row_sum(x)
