# class: correct
# task: gray
# features: uint8 input, double weights, one rounding to float
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = """
#include <torch/extension.h>

__global__ void gray_kernel(const unsigned char* image, float* out, int pixels) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < pixels) {
        const unsigned char* p = image + 3 * i;
        double v = 0.299 * p[0] + 0.587 * p[1] + 0.114 * p[2];
        out[i] = static_cast<float>(v);
    }
}

torch::Tensor gray(torch::Tensor image) {
    auto out = torch::empty({image.size(0), image.size(1)}, image.options().dtype(torch::kFloat32));
    int pixels = out.numel();
    gray_kernel<<<(pixels + 127) / 128, 128>>>(image.data_ptr<uint8_t>(), out.data_ptr<float>(), pixels);
    return out;
}
"""

CPP_SRC = "torch::Tensor gray(torch::Tensor image);"

_ext = load_inline(
    name="gray_uchar",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["gray"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, image):
        return _ext.gray(image)
