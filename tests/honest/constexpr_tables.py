# class: correct
# task: blur
# features: static constexpr table in device code, __host__ __device__ helpers, ring of registers
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = '''
#include <torch/extension.h>

__host__ __device__ constexpr float weight_of(int k) { return k == 1 ? 0.5f : 0.25f; }

template <bool ROWS>
__global__ void blur_pass(const float* in, float* out, int H, int W) {
    constexpr float weights[3] = {weight_of(0), weight_of(1), weight_of(2)};
    const int w = blockIdx.x * blockDim.x + threadIdx.x, h = blockIdx.y;
    if (w >= W) return;
    in += blockIdx.z * H * W;
    out += blockIdx.z * H * W;
    float acc = 0.f;
#pragma unroll
    for (int k = -1; k <= 1; ++k) {
        const int r = ROWS ? h : h + k, c = ROWS ? w + k : w;
        if (r >= 0 && r < H && c >= 0 && c < W) acc += weights[k + 1] * in[r * W + c];
    }
    out[h * W + w] = acc;
}

torch::Tensor blur_separable(torch::Tensor x) {
    const int planes = x.size(0) * x.size(1), H = x.size(2), W = x.size(3);
    auto rows = torch::empty_like(x), out = torch::empty_like(x);
    const dim3 grid((W + 63) / 64, H, planes);
    blur_pass<true><<<grid, 64>>>(x.data_ptr<float>(), rows.data_ptr<float>(), H, W);
    blur_pass<false><<<grid, 64>>>(rows.data_ptr<float>(), out.data_ptr<float>(), H, W);
    return out;
}
'''

cpp_src = "torch::Tensor blur_separable(torch::Tensor x);"

ops = load_inline(
    name="constexpr_tables",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["blur_separable"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return ops.blur_separable(x)
