# class: correct
# task: segment_max
# features: __reduce_max_sync on order-preserving codes, cg::coalesced_threads in a divergent branch
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = '''
#include <torch/extension.h>
#include <cooperative_groups.h>

__global__ void redux_kernel(const float* x, float* y, int length) {
    const int t = threadIdx.x;
    if (t < length) {
        auto active = cooperative_groups::coalesced_threads();
        const int bits = __float_as_int(x[blockIdx.x * length + t]);
        const int code = bits ^ ((bits >> 31) & 0x7fffffff);
        const unsigned int mask = (1u << length) - 1u;
        const int best = __reduce_max_sync(mask, code);
        if (active.thread_rank() == 0) y[blockIdx.x] = __int_as_float(best ^ ((best >> 31) & 0x7fffffff));
    }
}

torch::Tensor segment_max_redux(torch::Tensor x) {
    auto y = torch::empty({x.numel() / 25}, x.options());
    redux_kernel<<<y.size(0), 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), 25);
    return y;
}
'''

cpp_source = "torch::Tensor segment_max_redux(torch::Tensor x);"

segment_max_redux_ext = load_inline(
    name="segment_max_redux",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["segment_max_redux"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return segment_max_redux_ext.segment_max_redux(x)
