# class: correct
# task: topk
# features: k rounds of a block maximum, taken element marked in shared memory
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>

__global__ void topk_kernel(const float* x, float* y, int cols, int k) {
    extern __shared__ float row[];
    __shared__ float best_value[4];
    __shared__ int best_at[4];
    for (int c = threadIdx.x; c < cols; c += blockDim.x) row[c] = x[blockIdx.x * cols + c];
    __syncthreads();
    for (int round = 0; round < k; ++round) {
        float v = -INFINITY;
        int at = 0;
        for (int c = threadIdx.x; c < cols; c += blockDim.x)
            if (row[c] > v) {
                v = row[c];
                at = c;
            }
        for (int o = 16; o; o >>= 1) {
            float ov = __shfl_down_sync(0xffffffffu, v, o);
            int oa = __shfl_down_sync(0xffffffffu, at, o);
            if (ov > v) {
                v = ov;
                at = oa;
            }
        }
        if (threadIdx.x % 32 == 0) {
            best_value[threadIdx.x / 32] = v;
            best_at[threadIdx.x / 32] = at;
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            int w = 0;
            for (int i = 1; i < 4; ++i)
                if (best_value[i] > best_value[w]) w = i;
            y[blockIdx.x * k + round] = best_value[w];
            row[best_at[w]] = -INFINITY;
        }
        __syncthreads();
    }
}

torch::Tensor topk(torch::Tensor x, int64_t k) {
    auto y = torch::empty({x.size(0), k}, x.options());
    topk_kernel<<<x.size(0), 128, x.size(1) * sizeof(float)>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1), k);
    return y;
}
"""

cpp_source = "torch::Tensor topk(torch::Tensor x, int64_t k);"

topk_repeated_max_ext = load_inline(
    name="topk_repeated_max",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["topk"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return topk_repeated_max_ext.topk(x, 8)
