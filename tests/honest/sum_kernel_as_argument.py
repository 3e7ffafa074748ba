# class: correct
# task: sum_of_four
# features: kernel passed as a function pointer and as a template argument, accumulating launches
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>

__global__ void copy_kernel(const float* x, float* acc, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) acc[i] = x[i];
}
__global__ void accumulate_kernel(const float* x, float* acc, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) acc[i] += x[i];
}

typedef void (*kernel_t)(const float*, float*, int);

void run(kernel_t kernel, const torch::Tensor& x, torch::Tensor& acc) {
    int n = x.numel();
    kernel<<<(n + 63) / 64, 64>>>(x.data_ptr<float>(), acc.data_ptr<float>(), n);
}

template <kernel_t KERNEL>
void run_static(const torch::Tensor& x, torch::Tensor& acc) {
    int n = x.numel();
    KERNEL<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), acc.data_ptr<float>(), n);
}

torch::Tensor sum4_chain(torch::Tensor a, torch::Tensor b, torch::Tensor c, torch::Tensor d) {
    auto acc = torch::empty_like(a);
    run(copy_kernel, a, acc);
    run(accumulate_kernel, b, acc);
    run_static<accumulate_kernel>(c, acc);
    run_static<&accumulate_kernel>(d, acc);
    return acc;
}
"""

cpp_src = """
torch::Tensor sum4_chain(torch::Tensor a, torch::Tensor b, torch::Tensor c, torch::Tensor d);
"""

ops = load_inline(
    name="sum_kernel_as_argument",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["sum4_chain"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, a, b, c, d):
        return ops.sum4_chain(a, b, c, d)
