# class: correct
# task: half_row_sum
# features: 32-bit atomicAdd on float in shared memory per row, half conversions at the end, reinterpretation of at::Half in kernels
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>

__global__ void half_sum_rows_kernel(const at::Half* x, at::Half* y, int cols) {
    __shared__ float total;
    if (threadIdx.x == 0) total = 0.f;
    __syncthreads();
    float acc = 0.f;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) acc += static_cast<float>(x[blockIdx.x * cols + c]);
    atomicAdd(&total, acc);
    __syncthreads();
    if (threadIdx.x == 0) y[blockIdx.x] = static_cast<at::Half>(total);
}

torch::Tensor half_sum_rows(torch::Tensor x) {
    auto y = torch::empty({x.size(0)}, x.options());
    half_sum_rows_kernel<<<x.size(0), 64>>>(x.data_ptr<at::Half>(), y.data_ptr<at::Half>(), x.size(1));
    return y;
}
"""

cpp_src = """
torch::Tensor half_sum_rows(torch::Tensor x);
"""

ops = load_inline(
    name="half2_atomic_pairs",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["half_sum_rows"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return ops.half_sum_rows(x)
