# class: correct
# task: argmin_columns
# features: argmin over a middle dimension, thread per output, int64 output
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

__global__ void argmin_kernel(const float* x, long* out, int batch, int length, int inner) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= batch * inner) return;
    int b = i / inner, k = i % inner;
    const float* p = x + b * length * inner + k;
    float best = p[0];
    long at = 0;
    for (int j = 1; j < length; ++j) {
        float v = p[j * inner];
        if (v < best) {
            best = v;
            at = j;
        }
    }
    out[i] = at;
}

torch::Tensor argmin_middle(torch::Tensor x) {
    int b = x.size(0), n = x.size(1), k = x.size(2);
    auto out = torch::empty({b, k}, torch::TensorOptions().dtype(torch::kInt64).device(x.device()));
    argmin_kernel<<<(b * k + 127) / 128, 128>>>(x.data_ptr<float>(), out.data_ptr<long>(), b, n, k);
    return out;
}
"""

cpp_src = """
torch::Tensor argmin_middle(torch::Tensor x);
"""

ops = load_inline(
    name="argmin_dimension",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["argmin_middle"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return ops.argmin_middle(x)
