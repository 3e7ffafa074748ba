# class: correct
# task: cumsum_rows
# features: cooperative_groups/scan.h: inclusive_scan of a warp tile, carry by shuffle, warp per row
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
#include <cooperative_groups.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;

__global__ void cumsum_cg_kernel(const float* x, float* y, int cols) {
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    float carry = 0.f;
    for (int base = 0; base < cols; base += 32) {
        const int c = base + warp.thread_rank();
        const float v = c < cols ? x[blockIdx.x * cols + c] : 0.f;
        const float s = cg::inclusive_scan(warp, v, cg::plus<float>()) + carry;
        if (c < cols) y[blockIdx.x * cols + c] = s;
        carry = warp.shfl(s, 31);
    }
}

torch::Tensor cumsum_cg(torch::Tensor x) {
    auto y = torch::empty_like(x);
    cumsum_cg_kernel<<<x.size(0), 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""

cpp_src = """
torch::Tensor cumsum_cg(torch::Tensor x);
"""

ops = load_inline(
    name="scan_cg_inclusive",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["cumsum_cg"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return ops.cumsum_cg(x)
