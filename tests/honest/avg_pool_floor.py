# class: correct
# task: avg_pool2d
# features: floor of odd sizes, unused last row and column
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = """
#include <torch/extension.h>

__global__ void avg_pool2_kernel(const float* x, float* y, int H, int W) {
    int ow = threadIdx.x, oh = blockIdx.x, plane = blockIdx.y;
    const float* p = x + (plane * H + 2 * oh) * W + 2 * ow;
    y[(plane * gridDim.x + oh) * blockDim.x + ow] = 0.25f * (p[0] + p[1] + p[W] + p[W + 1]);
}

torch::Tensor avg_pool2(torch::Tensor x) {
    auto y = torch::empty({x.size(0), x.size(1), x.size(2) / 2, x.size(3) / 2}, x.options());
    avg_pool2_kernel<<<dim3(y.size(2), x.size(0) * x.size(1)), y.size(3)>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(2), x.size(3));
    return y;
}
"""

cpp_src = """
torch::Tensor avg_pool2(torch::Tensor x);
"""

module = load_inline(
    name="avg_pool_floor",
    cpp_sources=cpp_src,
    cuda_sources=cuda_src,
    functions=["avg_pool2"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return module.avg_pool2(x)
