# class: correct
# task: fma3
# features: three inputs, 2-D grid, __fmaf_rn
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = '''
#include <torch/extension.h>

__global__ void fma3_kernel(const float* x, const float* y, const float* z, float* out, int rows, int cols) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < rows && c < cols) {
        int i = r * cols + c;
        out[i] = __fmaf_rn(x[i], y[i], z[i]);
    }
}

torch::Tensor fma3(torch::Tensor x, torch::Tensor y, torch::Tensor z) {
    auto out = torch::empty_like(x);
    dim3 block(32, 8);
    dim3 grid((x.size(1) + block.x - 1) / block.x, (x.size(0) + block.y - 1) / block.y);
    fma3_kernel<<<grid, block>>>(x.data_ptr<float>(), y.data_ptr<float>(), z.data_ptr<float>(), out.data_ptr<float>(),
                                 x.size(0), x.size(1));
    return out;
}
'''

cpp_source = "torch::Tensor fma3(torch::Tensor x, torch::Tensor y, torch::Tensor z);"

fma_plain_ext = load_inline(
    name="fma_plain",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["fma3"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, y, z):
        return fma_plain_ext.fma3(x, y, z)
