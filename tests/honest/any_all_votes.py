# class: correct
# task: any_all
# features: __any_sync, __all_sync, __popc of a ballot, bool and int64 outputs
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = r"""
#include <torch/extension.h>

__global__ void votes_kernel(const float* x, bool* any, bool* all, int64_t* count, int rows, int cols) {
    int row = blockIdx.x, lane = threadIdx.x;
    bool has = false, every = true;
    int positives = 0;
    for (int base = 0; base < cols; base += 32) {
        int c = base + lane;
        bool inside = c < cols;
        float v = inside ? x[row * cols + c] : 0.f;
        has = __any_sync(0xffffffffu, inside && v > 2.5f) || has;
        every = __all_sync(0xffffffffu, !inside || v > -2.5f) && every;
        positives += __popc(__ballot_sync(0xffffffffu, inside && v > 0.f));
    }
    if (lane == 0) {
        any[row] = has;
        all[row] = every;
        count[row] = positives;
    }
}

std::vector<torch::Tensor> votes(torch::Tensor x) {
    auto any = torch::empty({x.size(0)}, x.options().dtype(torch::kBool));
    auto all = torch::empty({x.size(0)}, x.options().dtype(torch::kBool));
    auto count = torch::empty({x.size(0)}, x.options().dtype(torch::kInt64));
    votes_kernel<<<x.size(0), 32>>>(x.data_ptr<float>(), any.data_ptr<bool>(), all.data_ptr<bool>(), count.data_ptr<int64_t>(),
                                    x.size(0), x.size(1));
    return {any, all, count};
}
"""

CPP_SRC = "std::vector<torch::Tensor> votes(torch::Tensor x);"

_ext = load_inline(
    name="any_all_votes",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["votes"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return _ext.votes(x)
