# class: correct
# task: life
# features: two steps, intermediate grid, modulo wrap, int tensors
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>

__global__ void life_kernel(const int* in, int* out, int H, int W) {
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r >= H || c >= W) return;
    int neighbours = 0;
    for (int dr = -1; dr <= 1; ++dr)
        for (int dc = -1; dc <= 1; ++dc)
            if (dr != 0 || dc != 0) neighbours += in[((r + dr + H) % H) * W + (c + dc + W) % W];
    int alive = in[r * W + c];
    out[r * W + c] = neighbours == 3 || (alive && neighbours == 2);
}

torch::Tensor life(torch::Tensor grid, int64_t steps) {
    int H = grid.size(0), W = grid.size(1);
    torch::Tensor current = grid;
    for (int64_t s = 0; s < steps; ++s) {
        auto next = torch::empty_like(current);
        life_kernel<<<dim3((W + 15) / 16, (H + 15) / 16), dim3(16, 16)>>>(current.data_ptr<int>(), next.data_ptr<int>(), H, W);
        current = next;
    }
    return current;
}
"""

cpp_src = "torch::Tensor life(torch::Tensor grid, int64_t steps);"

ops = load_inline(
    name="life_two_launches",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["life"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, grid):
        return ops.life(grid, 2)
