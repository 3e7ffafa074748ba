# class: correct
# task: cosine
# features: three sums at once as float3, warp per row, atomicAdd of the mean
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>

__global__ void cosine_kernel(const float* x, const float* y, float* loss, int rows, int cols) {
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    float3 s = make_float3(0.f, 0.f, 0.f);
    for (int c = threadIdx.x; c < cols; c += 32) {
        float a = x[row * cols + c], b = y[row * cols + c];
        s.x += a * b;
        s.y += a * a;
        s.z += b * b;
    }
    for (int o = 16; o; o >>= 1) {
        s.x += __shfl_xor_sync(0xffffffffu, s.x, o);
        s.y += __shfl_xor_sync(0xffffffffu, s.y, o);
        s.z += __shfl_xor_sync(0xffffffffu, s.z, o);
    }
    if (threadIdx.x == 0) {
        float cosine = s.x / (fmaxf(sqrtf(s.y), 1e-8f) * fmaxf(sqrtf(s.z), 1e-8f));
        atomicAdd(loss, (1.f - cosine) / rows);
    }
}

torch::Tensor cosine_loss(torch::Tensor x, torch::Tensor y) {
    auto loss = torch::zeros({}, x.options());
    cosine_kernel<<<(x.size(0) + 3) / 4, dim3(32, 4)>>>(x.data_ptr<float>(), y.data_ptr<float>(), loss.data_ptr<float>(), x.size(0), x.size(1));
    return loss;
}
"""

cpp_src = "torch::Tensor cosine_loss(torch::Tensor x, torch::Tensor y);"

ops = load_inline(
    name="cosine_rows",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["cosine_loss"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, y):
        return ops.cosine_loss(x, y)
