# class: correct
# task: hinge
# features: sign with zero, cub::BlockReduce, one block
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = r"""
#include <torch/extension.h>
#include <cub/cub.cuh>

__global__ void hinge_kernel(const float* x, const float* y, float* loss, int n) {
    typedef cub::BlockReduce<float, 256> Reduce;
    __shared__ Reduce::TempStorage storage;
    float acc = 0.f;
    for (int i = threadIdx.x; i < n; i += 256) {
        float sign = (y[i] > 0.f) - (y[i] < 0.f);
        acc += fmaxf(1.f - x[i] * sign, 0.f);
    }
    float total = Reduce(storage).Sum(acc);
    if (threadIdx.x == 0) *loss = total / n;
}

torch::Tensor hinge_loss(torch::Tensor x, torch::Tensor y) {
    auto loss = torch::empty({}, x.options());
    hinge_kernel<<<1, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), loss.data_ptr<float>(), x.numel());
    return loss;
}
"""

cpp_src = "torch::Tensor hinge_loss(torch::Tensor x, torch::Tensor y);"

module = load_inline(
    name="hinge_copysign",
    cpp_sources=cpp_src,
    cuda_sources=cuda_src,
    functions=["hinge_loss"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, y):
        return module.hinge_loss(x, y)
