# class: correct
# task: scatter_add
# features: atomicAdd scatter into zeros, fp32
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>

__global__ void scatter_add_kernel(const int64_t* __restrict__ index, const float* __restrict__ src, float* out, int cols, int width, int total) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < total) atomicAdd(&out[(i / width) * cols + index[i]], src[i]);
}

torch::Tensor scatter_add(torch::Tensor index, torch::Tensor src) {
    auto out = torch::zeros({src.size(0), 40}, src.options());
    const int total = src.numel();
    scatter_add_kernel<<<(total + 127) / 128, 128>>>(index.data_ptr<int64_t>(), src.data_ptr<float>(), out.data_ptr<float>(), 40, src.size(1), total);
    return out;
}
"""

cpp_source = "torch::Tensor scatter_add(torch::Tensor index, torch::Tensor src);"

scatter_add_atomic_ext = load_inline(
    name="scatter_add_atomic",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["scatter_add"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, index, src):
        return scatter_add_atomic_ext.scatter_add(index, src)
