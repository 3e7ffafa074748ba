# class: correct
# task: cumsum_rows
# features: cg::memcpy_async of a whole row into shared memory, cg::wait, sequential pieces and offsets
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = """
#include <torch/extension.h>
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
namespace cg = cooperative_groups;

__global__ void cumsum_staged_kernel(const float* x, float* y, int cols) {
    extern __shared__ float s[];
    float* row = s;
    float* totals = s + cols;
    cg::thread_block block = cg::this_thread_block();
    cg::memcpy_async(block, row, x + blockIdx.x * cols, sizeof(float) * cols);
    cg::wait(block);
    const int t = threadIdx.x, piece = (cols + blockDim.x - 1) / blockDim.x;
    const int begin = min(t * piece, cols), end = min(begin + piece, cols);
    float acc = 0.f;
    for (int c = begin; c < end; ++c) {
        acc += row[c];
        row[c] = acc;
    }
    totals[t] = acc;
    block.sync();
    float before = 0.f;
    for (int k = 0; k < t; ++k) before += totals[k];
    for (int c = begin; c < end; ++c) y[blockIdx.x * cols + c] = row[c] + before;
}

torch::Tensor cumsum_staged(torch::Tensor x) {
    auto y = torch::empty_like(x);
    cumsum_staged_kernel<<<x.size(0), 64, (x.size(1) + 64) * sizeof(float)>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""

CPP_SRC = "torch::Tensor cumsum_staged(torch::Tensor x);"

_ext = load_inline(
    name="scan_cg_memcpy_async",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["cumsum_staged"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return _ext.cumsum_staged(x)
