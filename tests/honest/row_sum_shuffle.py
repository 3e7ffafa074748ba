# class: correct
# task: row_sum
# features: warp shuffle, block reduction through shared memory, row per block
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>

__inline__ __device__ float warp_reduce_sum(float v) {
#pragma unroll
    for (int offset = warpSize / 2; offset > 0; offset /= 2) v += __shfl_down_sync(0xffffffff, v, offset);
    return v;
}

__inline__ __device__ float block_reduce_sum(float v) {
    static __shared__ float shared[32];
    int lane = threadIdx.x % warpSize;
    int wid = threadIdx.x / warpSize;
    v = warp_reduce_sum(v);
    if (lane == 0) shared[wid] = v;
    __syncthreads();
    v = (threadIdx.x < blockDim.x / warpSize) ? shared[lane] : 0.0f;
    if (wid == 0) v = warp_reduce_sum(v);
    return v;
}

__global__ void row_sum_kernel(const float* x, float* y, int cols) {
    float acc = 0.0f;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) acc += x[(size_t)blockIdx.x * cols + c];
    acc = block_reduce_sum(acc);
    if (threadIdx.x == 0) y[blockIdx.x] = acc;
}

torch::Tensor row_sum(torch::Tensor x) {
    auto y = torch::empty({x.size(0)}, x.options());
    row_sum_kernel<<<x.size(0), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""

cpp_source = "torch::Tensor row_sum(torch::Tensor x);"

row_sum_shuffle_ext = load_inline(
    name="row_sum_shuffle",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["row_sum"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return row_sum_shuffle_ext.row_sum(x)
