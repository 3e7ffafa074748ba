# class: correct
# task: row_sum
# features: cooperative_groups/reduce.h: cg::reduce with cg::plus on a warp tile
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = """
#include <torch/extension.h>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

__global__ void row_sum_cg_kernel(const float* x, float* y, int cols) {
    __shared__ float warp_sums[8];
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    float acc = 0.0f;
    for (int c = block.thread_rank(); c < cols; c += block.size()) acc += x[blockIdx.x * cols + c];
    acc = cg::reduce(warp, acc, cg::plus<float>());
    if (warp.thread_rank() == 0) warp_sums[warp.meta_group_rank()] = acc;
    block.sync();
    if (warp.meta_group_rank() == 0) {
        float v = warp.thread_rank() < warp.meta_group_size() ? warp_sums[warp.thread_rank()] : 0.0f;
        v = cg::reduce(warp, v, cg::plus<float>());
        if (warp.thread_rank() == 0) y[blockIdx.x] = v;
    }
}

torch::Tensor row_sum_cg(torch::Tensor x) {
    auto y = torch::empty({x.size(0)}, x.options());
    row_sum_cg_kernel<<<x.size(0), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""

CPP_SRC = "torch::Tensor row_sum_cg(torch::Tensor x);"

_ext = load_inline(
    name="row_sum_cg_reduce",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["row_sum_cg"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return _ext.row_sum_cg(x)
