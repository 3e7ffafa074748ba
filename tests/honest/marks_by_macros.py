# class: correct
# task: relu
# features: device functions marked by macros: alone, in steps, in branches, with arguments, with templates
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = r"""
#include <torch/extension.h>
#include <ATen/cuda/detail/KernelUtils.h>
#include <c10/macros/Macros.h>

#ifdef __CUDACC__
#define BOTH_SIDES __host__ __device__
#else
#define BOTH_SIDES
#endif
#define QUICK ON_CARD __forceinline__
#define ON_CARD __device__
#define RETURNS(T) static __device__ __inline__ T

BOTH_SIDES inline float larger(float a, float b) { return a > b ? a : b; }

ON_CARD
float
zero_of(float)
{
    return 0.0f;
}

template <typename T>
QUICK T select(bool first, T a, T b) {
    return first ? a : b;
}

RETURNS(float) identity(float v) { return v; }

C10_HOST_DEVICE C10_ALWAYS_INLINE float positive(float v) {
    return larger(v, 0.0f);
}

C10_DEVICE inline bool is_positive(float v) { return positive(v) > 0.0f; }

C10_LAUNCH_BOUNDS_1(256)
__global__ void relu_kernel(const float* in, float* out, int n) {
    CUDA_KERNEL_LOOP(i, n) {
        const float v = identity(in[i]);
        out[i] = select(is_positive(v), v, zero_of(v));
    }
}

torch::Tensor relu_forward(torch::Tensor x) {
    auto out = torch::empty_like(x);
    const int n = static_cast<int>(x.numel());
    const int blocks = static_cast<int>(larger(1.0f, static_cast<float>((n + 255) / 256)));
    relu_kernel<<<blocks, 256>>>(x.data_ptr<float>(), out.data_ptr<float>(), n);
    return out;
}
"""

ext = load_inline(
    name="marks_by_macros",
    cpp_sources="torch::Tensor relu_forward(torch::Tensor x);",
    cuda_sources=CUDA_SRC,
    functions=["relu_forward"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return ext.relu_forward(x)
