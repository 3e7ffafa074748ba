# class: correct
# task: to_channels_last
# features: kernel writes NHWC rows by blocks, result is a view of a flat buffer
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = """
#include <torch/extension.h>

__global__ void to_nhwc_kernel(const float* x, float* y, int C, int plane) {
    __shared__ float tile[16][17];
    const float* in = x + blockIdx.z * C * plane;
    float* out = y + blockIdx.z * C * plane;
    int p = blockIdx.x * 16 + threadIdx.x, c = blockIdx.y * 16 + threadIdx.y;
    if (c < C && p < plane) tile[threadIdx.y][threadIdx.x] = in[c * plane + p];
    __syncthreads();
    p = blockIdx.x * 16 + threadIdx.y;
    c = blockIdx.y * 16 + threadIdx.x;
    if (c < C && p < plane) out[p * C + c] = tile[threadIdx.x][threadIdx.y];
}

torch::Tensor to_nhwc_view(torch::Tensor x) {
    int N = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3);
    auto flat = torch::empty({x.numel()}, x.options());
    to_nhwc_kernel<<<dim3((H * W + 15) / 16, (C + 15) / 16, N), dim3(16, 16)>>>(x.data_ptr<float>(), flat.data_ptr<float>(), C, H * W);
    return flat.view({N, H, W, C});
}
"""

cpp_src = """
torch::Tensor to_nhwc_view(torch::Tensor x);
"""

module = load_inline(
    name="permuted_output_view",
    cpp_sources=cpp_src,
    cuda_sources=cuda_src,
    functions=["to_nhwc_view"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return module.to_nhwc_view(x)
