# class: correct
# task: residual_block
# features: four kernels in a row, residual added in the last, 3-D input viewed as rows
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>
#include <vector>

__global__ void norm_kernel(const float* x, const float* w, const float* b, float* y, int cols, float eps) {
    const float v0 = threadIdx.x < cols ? x[blockIdx.x * cols + threadIdx.x] : 0.f;
    const float v1 = threadIdx.x + 32 < cols ? x[blockIdx.x * cols + threadIdx.x + 32] : 0.f;
    float s = v0 + v1;
    for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(0xffffffffu, s, o);
    const float mean = s / cols;
    const float d0 = threadIdx.x < cols ? v0 - mean : 0.f, d1 = threadIdx.x + 32 < cols ? v1 - mean : 0.f;
    float q = d0 * d0 + d1 * d1;
    for (int o = 16; o; o >>= 1) q += __shfl_xor_sync(0xffffffffu, q, o);
    const float r = rsqrtf(q / cols + eps);
    if (threadIdx.x < cols) y[blockIdx.x * cols + threadIdx.x] = d0 * r * w[threadIdx.x] + b[threadIdx.x];
    if (threadIdx.x + 32 < cols) y[blockIdx.x * cols + threadIdx.x + 32] = d1 * r * w[threadIdx.x + 32] + b[threadIdx.x + 32];
}

template <bool GELU, bool RESIDUAL>
__global__ void linear_kernel(const float* x, const float* w, const float* b, const float* residual, float* y, int in, int out) {
    const int o = blockIdx.y * blockDim.x + threadIdx.x;
    if (o >= out) return;
    float acc = b[o];
    for (int i = 0; i < in; ++i) acc += x[blockIdx.x * in + i] * w[o * in + i];
    if (GELU) acc = 0.5f * acc * (1.f + erff(acc * 0.70710678f));
    if (RESIDUAL) acc += residual[blockIdx.x * out + o];
    y[blockIdx.x * out + o] = acc;
}

torch::Tensor block_forward(torch::Tensor x, std::vector<torch::Tensor> p, double eps) {
    const int width = x.size(-1), rows = x.numel() / width, hidden = p[2].size(0);
    TORCH_CHECK(width <= 64, "width of at most 64");
    auto flat = x.reshape({rows, width});
    auto normed = torch::empty_like(flat);
    auto h = torch::empty({rows, hidden}, x.options());
    auto y = torch::empty_like(flat);
    norm_kernel<<<rows, 32>>>(flat.data_ptr<float>(), p[0].data_ptr<float>(), p[1].data_ptr<float>(), normed.data_ptr<float>(), width, eps);
    linear_kernel<true, false><<<dim3(rows, (hidden + 31) / 32), 32>>>(normed.data_ptr<float>(), p[2].data_ptr<float>(), p[3].data_ptr<float>(), nullptr,
                                                                      h.data_ptr<float>(), width, hidden);
    linear_kernel<false, true><<<dim3(rows, (width + 31) / 32), 32>>>(h.data_ptr<float>(), p[4].data_ptr<float>(), p[5].data_ptr<float>(), flat.data_ptr<float>(),
                                                                     y.data_ptr<float>(), hidden, width);
    return y.view_as(x);
}
"""

cpp_source = """
torch::Tensor block_forward(torch::Tensor x, std::vector<torch::Tensor> p, double eps);
"""

residual_block_launches_ext = load_inline(
    name="residual_block_launches",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["block_forward"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.fc1 = nn.Linear(width, 2 * width)
        self.fc2 = nn.Linear(2 * width, width)

    def forward(self, x):
        params = [self.norm.weight, self.norm.bias, self.fc1.weight, self.fc1.bias, self.fc2.weight, self.fc2.bias]
        return residual_block_launches_ext.block_forward(x, params, self.norm.eps)
