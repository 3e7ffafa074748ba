# class: correct
# task: compare_mask
# features: bool outputs, logical operators on predicates
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = '''
#include <torch/extension.h>

__global__ void compare_kernel(const float* x, const float* y, bool* greater, bool* both, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        greater[i] = x[i] > y[i];
        both[i] = x[i] > 0.0f && y[i] > 0.0f;
    }
}

std::vector<torch::Tensor> compare(torch::Tensor x, torch::Tensor y) {
    auto opts = torch::TensorOptions().dtype(torch::kBool).device(x.device());
    auto greater = torch::empty(x.sizes(), opts);
    auto both = torch::empty(x.sizes(), opts);
    int n = x.numel();
    compare_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), greater.data_ptr<bool>(), both.data_ptr<bool>(), n);
    return {greater, both};
}
'''

cpp_src = '''
std::vector<torch::Tensor> compare(torch::Tensor x, torch::Tensor y);
'''

module = load_inline(
    name="compare_bool",
    cpp_sources=cpp_src,
    cuda_sources=cuda_src,
    functions=["compare"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, y):
        return module.compare(x, y)
