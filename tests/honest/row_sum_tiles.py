# class: correct
# task: row_sum
# features: cooperative groups: thread_block, tiled_partition, shfl_down, several rows a block
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = '''
#include <torch/extension.h>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__global__ void row_sum_tiles_kernel(const float* x, float* y, int rows, int cols) {
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<16> tile = cg::tiled_partition<16>(block);
    int row = blockIdx.x * tile.meta_group_size() + tile.meta_group_rank();
    if (row >= rows) return;
    float acc = 0.f;
    for (int c = tile.thread_rank(); c < cols; c += tile.size()) acc += x[row * cols + c];
    for (int offset = tile.size() / 2; offset > 0; offset >>= 1) acc += tile.shfl_down(acc, offset);
    if (tile.thread_rank() == 0) y[row] = acc;
}

torch::Tensor row_sum_tiles(torch::Tensor x) {
    int rows = x.size(0), cols = x.size(1);
    auto y = torch::empty({rows}, x.options());
    row_sum_tiles_kernel<<<(rows + 7) / 8, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, cols);
    return y;
}
'''

cpp_src = "torch::Tensor row_sum_tiles(torch::Tensor x);"

ops = load_inline(
    name="row_sum_tiles",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["row_sum_tiles"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return ops.row_sum_tiles(x)
