# class: correct
# task: row_max
# features: functors of Thrust in kernels and as the argument of a template
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = r"""
#include <torch/extension.h>
#include <thrust/functional.h>

template <class Combine>
__global__ void reduce_rows_kernel(const float* in, float* out, int columns, Combine combine) {
    __shared__ float shared[64];
    const float* row = in + static_cast<size_t>(blockIdx.x) * columns;
    float v = row[0];
    for (int i = threadIdx.x; i < columns; i += 64) v = combine(v, row[i]);
    shared[threadIdx.x] = v;
    __syncthreads();
    for (int half = 32; half > 0; half = thrust::divides<int>()(half, 2)) {
        if (threadIdx.x < half)
            shared[threadIdx.x] = thrust::maximum<>{}(shared[threadIdx.x], shared[threadIdx.x + half]);
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = shared[0];
}

torch::Tensor row_max(torch::Tensor x) {
    auto out = torch::empty({x.size(0)}, x.options());
    reduce_rows_kernel<<<x.size(0), 64>>>(x.data_ptr<float>(), out.data_ptr<float>(), (int)x.size(1),
                                          thrust::maximum<float>());
    return out;
}
"""

ext = load_inline(
    name="thrust_functors",
    cpp_sources="torch::Tensor row_max(torch::Tensor x);",
    cuda_sources=CUDA_SRC,
    functions=["row_max"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return ext.row_max(x)
