# class: correct
# task: column_sum
# features: 2-D block, shared tile reduced by columns, coalesced reads
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = '''
#include <torch/extension.h>

#define TX 32
#define TY 8

__global__ void column_sum_kernel(const float* x, float* y, int rows, int cols) {
    __shared__ float tile[TY][TX + 1];
    int c = blockIdx.x * TX + threadIdx.x;
    float acc = 0.f;
    if (c < cols)
        for (int r = threadIdx.y; r < rows; r += TY) acc += x[r * cols + c];
    tile[threadIdx.y][threadIdx.x] = acc;
    __syncthreads();
    if (threadIdx.y == 0 && c < cols) {
        float total = 0.f;
#pragma unroll
        for (int k = 0; k < TY; ++k) total += tile[k][threadIdx.x];
        y[c] = total;
    }
}

torch::Tensor column_sum(torch::Tensor x) {
    auto y = torch::empty({x.size(1)}, x.options());
    column_sum_kernel<<<(x.size(1) + TX - 1) / TX, dim3(TX, TY)>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(0), x.size(1));
    return y;
}
'''

cpp_src = '''
torch::Tensor column_sum(torch::Tensor x);
'''

ops = load_inline(
    name="column_sum_tiles",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["column_sum"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return ops.column_sum(x)
