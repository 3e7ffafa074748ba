# class: correct
# task: sort_rows
# features: sorts the input itself (rank sort through shared memory) and returns it
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = '''
#include <torch/extension.h>

__global__ void rank_sort_kernel(float* x, int cols) {
    extern __shared__ float s[];
    float* row = x + blockIdx.x * cols;
    for (int i = threadIdx.x; i < cols; i += blockDim.x) s[i] = row[i];
    __syncthreads();
    for (int i = threadIdx.x; i < cols; i += blockDim.x) {
        const float v = s[i];
        int rank = 0;
        for (int j = 0; j < cols; ++j) rank += (s[j] < v || (s[j] == v && j < i)) ? 1 : 0;
        row[rank] = v;
    }
}

torch::Tensor sort_(torch::Tensor x) {
    rank_sort_kernel<<<x.size(0), 64, x.size(1) * sizeof(float)>>>(x.data_ptr<float>(), x.size(1));
    return x;
}
'''

cpp_src = "torch::Tensor sort_(torch::Tensor x);"

ops = load_inline(
    name="sort_input_in_place",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["sort_"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return ops.sort_(x)
