# class: correct
# task: batch_norm_inference
# features: scale and shift folded by a small kernel, then applied; buffers read by name from state_dict
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = r"""
#include <torch/extension.h>

__global__ void fold_kernel(const float* mean, const float* var, const float* w, const float* b, float* scale, float* shift, int n, float eps) {
    int c = threadIdx.x;
    if (c < n) {
        float s = w[c] / sqrtf(var[c] + eps);
        scale[c] = s;
        shift[c] = b[c] - mean[c] * s;
    }
}
__global__ void affine_kernel(const float* x, const float* scale, const float* shift, float* y, int C, int plane) {
    int c = blockIdx.y % C;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < plane) y[blockIdx.y * plane + i] = fmaf(x[blockIdx.y * plane + i], scale[c], shift[c]);
}

std::vector<torch::Tensor> fold(torch::Tensor mean, torch::Tensor var, torch::Tensor w, torch::Tensor b, double eps) {
    auto scale = torch::empty_like(w), shift = torch::empty_like(w);
    fold_kernel<<<1, 32>>>(mean.data_ptr<float>(), var.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(), scale.data_ptr<float>(),
                           shift.data_ptr<float>(), w.numel(), eps);
    return {scale, shift};
}

torch::Tensor apply_affine(torch::Tensor x, torch::Tensor scale, torch::Tensor shift) {
    auto y = torch::empty_like(x);
    int plane = x.size(2) * x.size(3);
    affine_kernel<<<dim3((plane + 127) / 128, x.size(0) * x.size(1)), 128>>>(x.data_ptr<float>(), scale.data_ptr<float>(), shift.data_ptr<float>(),
                                                                            y.data_ptr<float>(), x.size(1), plane);
    return y;
}
"""

cpp_src = """
std::vector<torch::Tensor> fold(torch::Tensor mean, torch::Tensor var, torch::Tensor w, torch::Tensor b, double eps);
torch::Tensor apply_affine(torch::Tensor x, torch::Tensor scale, torch::Tensor shift);
"""

module = load_inline(
    name="batch_norm_registered_buffers",
    cpp_sources=cpp_src,
    cuda_sources=cuda_src,
    functions=["fold", "apply_affine"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.bn = nn.BatchNorm2d(channels)

    def forward(self, x):
        state = self.bn.state_dict()
        scale, shift = module.fold(state["running_mean"], state["running_var"], self.bn.weight.data, self.bn.bias.data, self.bn.eps)
        return module.apply_affine(x, scale, shift)
