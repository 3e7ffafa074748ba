# class: correct
# task: exclusive_scan
# features: cub::WarpScan on 64-bit integers, two levels in one block
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>
#include <cub/cub.cuh>

__global__ void exclusive_cub_kernel(const int64_t* x, int64_t* y, int n) {
    using Scan = cub::WarpScan<long long>;
    __shared__ Scan::TempStorage temp[16];
    __shared__ long long sums[16];
    const int t = threadIdx.x, warp = t / 32;
    long long v = x[blockIdx.x * n + t], before, total;
    Scan(temp[warp]).ExclusiveSum(v, before, total);
    if (t % 32 == 31) sums[warp] = total;
    __syncthreads();
    long long offset = 0;
    for (int w = 0; w < warp; ++w) offset += sums[w];
    y[blockIdx.x * n + t] = before + offset;
}

torch::Tensor exclusive_cub(torch::Tensor x) {
    auto y = torch::empty_like(x);
    exclusive_cub_kernel<<<x.size(0), 512>>>(x.data_ptr<int64_t>(), y.data_ptr<int64_t>(), x.size(1));
    return y;
}
"""

cpp_source = """
torch::Tensor exclusive_cub(torch::Tensor x);
"""

scan_cub_warp_ext = load_inline(
    name="scan_cub_warp",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["exclusive_cub"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return scan_cub_warp_ext.exclusive_cub(x)
