# class: correct
# task: variance
# features: cub::WarpReduce, two passes
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = '''
#include <torch/extension.h>
#include <cub/warp/warp_reduce.cuh>

__global__ void var_warp_kernel(const float* x, float* var, float* mean, int rows, int cols) {
    using WarpReduce = cub::WarpReduce<float>;
    __shared__ WarpReduce::TempStorage temp[4];
    int w = threadIdx.x / 32, lane = threadIdx.x % 32;
    int row = blockIdx.x * 4 + w;
    if (row >= rows) return;
    const float* p = x + row * cols;
    float acc = 0.f;
    for (int c = lane; c < cols; c += 32) acc += p[c];
    float m = WarpReduce(temp[w]).Sum(acc) / cols;
    m = __shfl_sync(0xffffffffu, m, 0);
    __syncwarp();
    acc = 0.f;
    for (int c = lane; c < cols; c += 32) acc += (p[c] - m) * (p[c] - m);
    float v = WarpReduce(temp[w]).Sum(acc);
    if (lane == 0) {
        mean[row] = m;
        var[row] = v / (cols - 1);
    }
}

std::tuple<torch::Tensor, torch::Tensor> var_mean_cub(torch::Tensor x) {
    int rows = x.size(0);
    auto var = x.new_empty({rows});
    auto mean = x.new_empty({rows});
    var_warp_kernel<<<(rows + 3) / 4, 128>>>(x.data_ptr<float>(), var.data_ptr<float>(), mean.data_ptr<float>(), rows, x.size(1));
    return std::make_tuple(var, mean);
}
'''

cpp_src = "std::tuple<torch::Tensor, torch::Tensor> var_mean_cub(torch::Tensor x);"

ops = load_inline(
    name="variance_cub_warp",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["var_mean_cub"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return ops.var_mean_cub(x)
