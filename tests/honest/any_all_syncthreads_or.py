# class: correct
# task: any_all
# features: __syncthreads_or, __syncthreads_and, __syncthreads_count, __reduce_add_sync
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
#include <tuple>

__global__ void block_votes_kernel(const float* x, bool* any, bool* all, int64_t* count, int cols) {
    const float v = threadIdx.x < cols ? x[blockIdx.x * cols + threadIdx.x] : -0.0f;
    const bool inside = threadIdx.x < cols;
    const int some = __syncthreads_or(inside && v > 2.5f);
    const int every = __syncthreads_and(!inside || v > -2.5f);
    const int positives = __syncthreads_count(inside && v > 0.0f);
    unsigned int again = __reduce_add_sync(0xffffffffu, inside && v > 0.0f ? 1u : 0u);
    if (threadIdx.x == 0) {
        any[blockIdx.x] = some != 0;
        all[blockIdx.x] = every != 0;
        count[blockIdx.x] = again <= (unsigned)positives ? positives : -1;
    }
}

std::tuple<torch::Tensor, torch::Tensor, torch::Tensor> block_votes(torch::Tensor x) {
    const int64_t rows = x.size(0);
    auto any = torch::empty({rows}, x.options().dtype(at::kBool));
    auto all = torch::empty({rows}, x.options().dtype(at::kBool));
    auto count = torch::empty({rows}, x.options().dtype(at::kLong));
    TORCH_CHECK(x.size(1) <= 128, "rows too long");
    block_votes_kernel<<<rows, 128>>>(x.data_ptr<float>(), any.data_ptr<bool>(), all.data_ptr<bool>(), count.data_ptr<int64_t>(), x.size(1));
    return std::make_tuple(any, all, count);
}
"""

cpp_src = """
std::tuple<torch::Tensor, torch::Tensor, torch::Tensor> block_votes(torch::Tensor x);
"""

ops = load_inline(
    name="any_all_syncthreads_or",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["block_votes"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return ops.block_votes(x)
