# class: correct
# task: index_add
# features: gpuAtomicAddNoReturn and fastAtomicAdd on floats
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = r"""
#include <torch/extension.h>
#include <ATen/native/cuda/KernelUtils.cuh>

__global__ void add_rows_kernel(const float* in, const int64_t* index, float* out, int rows, int columns,
                                int places) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * columns) return;
    const int to = static_cast<int>(index[i / columns]) * columns + i % columns;
    if (i % 2)
        gpuAtomicAddNoReturn(out + to, in[i]);
    else
        at::native::fastAtomicAdd(out, to, places, in[i], true);
}

torch::Tensor add_rows(torch::Tensor x, torch::Tensor index) {
    const int rows = (int)x.size(0), columns = (int)x.size(1);
    auto out = torch::zeros({23, columns}, x.options());
    add_rows_kernel<<<(rows * columns + 127) / 128, 128>>>(x.data_ptr<float>(), index.data_ptr<int64_t>(),
                                                           out.data_ptr<float>(), rows, columns, 23 * columns);
    return out;
}
"""

ext = load_inline(
    name="atomics_of_torch_rows",
    cpp_sources="torch::Tensor add_rows(torch::Tensor x, torch::Tensor index);",
    cuda_sources=CUDA_SRC,
    functions=["add_rows"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, index):
        return ext.add_rows(x, index)
