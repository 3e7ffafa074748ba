# class: correct
# task: row_sum
# features: cub::BlockReduce with TempStorage
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = '''
#include <torch/extension.h>
#include <cub/cub.cuh>

template <int THREADS>
__global__ void row_sum_cub_kernel(const float* x, float* y, int cols) {
    typedef cub::BlockReduce<float, THREADS> BlockReduce;
    __shared__ typename BlockReduce::TempStorage temp;
    float acc = 0.0f;
    for (int c = threadIdx.x; c < cols; c += THREADS) acc += x[blockIdx.x * cols + c];
    float total = BlockReduce(temp).Sum(acc);
    if (threadIdx.x == 0) y[blockIdx.x] = total;
}

torch::Tensor row_sum_cub(torch::Tensor x) {
    auto y = torch::empty({x.size(0)}, x.options());
    row_sum_cub_kernel<128><<<x.size(0), 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
'''

CPP_SRC = "torch::Tensor row_sum_cub(torch::Tensor x);"

_ext = load_inline(
    name="row_sum_cub",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["row_sum_cub"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return _ext.row_sum_cub(x)
