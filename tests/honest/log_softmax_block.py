# class: correct
# task: log_softmax
# features: cub::BlockReduce used twice with cub::Max replaced by a functor
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = r'''
#include <torch/extension.h>
#include <cub/block/block_reduce.cuh>

struct MaxOp {
    __device__ __forceinline__ float operator()(float a, float b) const { return a > b ? a : b; }
};

__global__ void log_softmax_kernel(const float* x, float* y, int cols) {
    using Reduce = cub::BlockReduce<float, 128>;
    __shared__ Reduce::TempStorage temp;
    __shared__ float row_max, row_log;
    const float* p = x + blockIdx.x * cols;
    float m = -INFINITY;
    for (int c = threadIdx.x; c < cols; c += 128) m = fmaxf(m, p[c]);
    m = Reduce(temp).Reduce(m, MaxOp());
    if (threadIdx.x == 0) row_max = m;
    __syncthreads();
    float s = 0.f;
    for (int c = threadIdx.x; c < cols; c += 128) s += expf(p[c] - row_max);
    s = Reduce(temp).Sum(s);
    if (threadIdx.x == 0) row_log = logf(s);
    __syncthreads();
    for (int c = threadIdx.x; c < cols; c += 128) y[blockIdx.x * cols + c] = p[c] - row_max - row_log;
}

torch::Tensor log_softmax(torch::Tensor x) {
    auto y = torch::empty_like(x);
    log_softmax_kernel<<<x.size(0), 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
'''

cpp_src = "torch::Tensor log_softmax(torch::Tensor x);"

module = load_inline(
    name="log_softmax_block",
    cpp_sources=cpp_src,
    cuda_sources=cuda_src,
    functions=["log_softmax"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return module.log_softmax(x)
