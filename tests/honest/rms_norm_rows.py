# class: correct
# task: rms_norm
# features: nn.Parameter of the same name, float4 rows (a multiple of four), rsqrtf
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>

__global__ void rms_norm_kernel(const float4* x, const float4* w, float4* y, int quads, float eps) {
    __shared__ float s[2];
    const float4* p = x + blockIdx.x * quads;
    float acc = 0.f;
    for (int c = threadIdx.x; c < quads; c += blockDim.x) {
        float4 v = p[c];
        acc += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
    }
    for (int o = 16; o; o >>= 1) acc += __shfl_xor_sync(0xffffffffu, acc, o);
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = acc;
    __syncthreads();
    float scale = rsqrtf((s[0] + s[1]) / (4.0f * quads) + eps);
    for (int c = threadIdx.x; c < quads; c += blockDim.x) {
        float4 v = p[c], g = w[c];
        y[blockIdx.x * quads + c] = make_float4(v.x * scale * g.x, v.y * scale * g.y, v.z * scale * g.z, v.w * scale * g.w);
    }
}

torch::Tensor rms_norm(torch::Tensor x, torch::Tensor weight, double eps) {
    auto y = torch::empty_like(x);
    int cols = x.size(-1);
    TORCH_CHECK(cols % 4 == 0, "rows must hold a multiple of four elements");
    rms_norm_kernel<<<x.numel() / cols, 64>>>((const float4*)x.data_ptr<float>(), (const float4*)weight.data_ptr<float>(),
                                              (float4*)y.data_ptr<float>(), cols / 4, eps);
    return y;
}
"""

cpp_source = "torch::Tensor rms_norm(torch::Tensor x, torch::Tensor weight, double eps);"

rms_norm_rows_ext = load_inline(
    name="rms_norm_rows",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["rms_norm"],
)


class ModelNew(nn.Module):
    def __init__(self, size, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(size) + 0.5)
        self.eps = eps

    def forward(self, x):
        return rms_norm_rows_ext.rms_norm(x.contiguous(), self.weight, self.eps)
