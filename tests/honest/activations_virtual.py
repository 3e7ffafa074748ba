# class: correct
# task: activations
# features: virtual functions of objects built in the kernel, several launches
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

struct Activation {
    __device__ virtual float value(float v) const = 0;
};
struct Elu : Activation {
    float alpha;
    __device__ explicit Elu(float a) : alpha(a) {}
    __device__ float value(float v) const override { return v > 0.f ? v : alpha * expm1f(v); }
};
struct HardSwish : Activation {
    __device__ float value(float v) const override { return v * fminf(fmaxf(v + 3.f, 0.f), 6.f) / 6.f; }
};
struct Softplus : Activation {
    __device__ float value(float v) const override { return fmaxf(v, 0.f) + log1pf(expf(-fabsf(v))); }
};
struct Silu : Activation {
    __device__ float value(float v) const override { return v / (1.f + expf(-v)); }
};

__global__ void run(const float* x, float* y, int n, int kind) {
    Elu elu(1.0f);
    HardSwish hardswish;
    Softplus softplus;
    Silu silu;
    const Activation* a;
    if (kind == 0) a = &elu;
    else if (kind == 1) a = &hardswish;
    else if (kind == 2) a = &softplus;
    else a = &silu;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a->value(x[i]);
}

std::vector<torch::Tensor> activations_virtual(torch::Tensor x) {
    std::vector<torch::Tensor> results;
    int n = x.numel();
    for (int kind = 0; kind < 4; kind++) {
        torch::Tensor y = torch::empty_like(x);
        run<<<(n + 63) / 64, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), n, kind);
        results.push_back(y);
    }
    return results;
}
"""

cpp_src = "std::vector<torch::Tensor> activations_virtual(torch::Tensor x);"

ops = load_inline(
    name="activations_virtual",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["activations_virtual"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return tuple(ops.activations_virtual(x.contiguous()))
