#include "tasks/prompt_example.h"

#include "common/error.h"

namespace bicrl {
namespace {

constexpr WorkedExample kExample = {
    .pytorch_code = R"py(import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, a, b):
        return a + b


def get_inputs():
    return [torch.randn(16, 128), torch.randn(16, 128)]


def get_init_inputs():
    return []
)py",
    .prefix = R"py(import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# CUDA source: the kernel and the function that launches it
)py",
    .middle = R"py(source = """
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void add_kernel(const float* a, const float* b, float* out, int size) {
    const int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index < size) {
        out[index] = a[index] + b[index];
    }
}

torch::Tensor add_cuda(torch::Tensor a, torch::Tensor b) {
    auto out = torch::empty_like(a);
    const int size = a.numel();
    const int threads = 256;
    const int blocks = (size + threads - 1) / threads;
    add_kernel<<<blocks, threads>>>(a.data_ptr<float>(), b.data_ptr<float>(), out.data_ptr<float>(), size);
    return out;
}
""")py",
    .suffix = R"py(

cpp_src = """
torch::Tensor add_cuda(torch::Tensor a, torch::Tensor b);
"""

# Compile and load the extension
add_module = load_inline(
    name='add_module',
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=['add_cuda'],
    verbose=True,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, a, b):
        return add_module.add_cuda(a, b)
)py",
};

}  // namespace

std::string WorkedExample::program() const { return concat(prefix, middle, suffix); }

const WorkedExample& worked_example() { return kExample; }

}  // namespace bicrl
