# class: correct
# task: uint8_ops
# features: uint8 and bool outputs, uchar4 vectors with a tail
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = """
#include <torch/extension.h>

__global__ void invert_kernel(const uint8_t* x, uint8_t* inverted, bool* bright, int n) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (i + 3 < n) {
        uchar4 v = *reinterpret_cast<const uchar4*>(x + i);
        *reinterpret_cast<uchar4*>(inverted + i) = make_uchar4(255 - v.x, 255 - v.y, 255 - v.z, 255 - v.w);
        bright[i] = v.x > 100;
        bright[i + 1] = v.y > 100;
        bright[i + 2] = v.z > 100;
        bright[i + 3] = v.w > 100;
    } else {
        for (; i < n; ++i) {
            inverted[i] = 255 - x[i];
            bright[i] = x[i] > 100;
        }
    }
}

std::vector<torch::Tensor> invert(torch::Tensor x) {
    auto inverted = torch::empty_like(x);
    auto bright = torch::empty(x.sizes(), x.options().dtype(torch::kBool));
    int n = x.numel(), groups = (n + 3) / 4;
    invert_kernel<<<(groups + 127) / 128, 128>>>(x.data_ptr<uint8_t>(), inverted.data_ptr<uint8_t>(), bright.data_ptr<bool>(), n);
    return {inverted, bright};
}
"""

cpp_src = "std::vector<torch::Tensor> invert(torch::Tensor x);"

module = load_inline(
    name="uint8_invert",
    cpp_sources=cpp_src,
    cuda_sources=cuda_src,
    functions=["invert"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return module.invert(x)
