# class: correct
# task: full_sum
# features: double accumulator, atomicAdd on double, cast kernel
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = '''
#include <torch/extension.h>

__global__ void sum_double_kernel(const float* x, double* total, int n) {
    double acc = 0.0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) acc += (double)x[i];
    for (int o = 16; o > 0; o /= 2) acc += __shfl_down_sync(0xffffffff, acc, o);
    if (threadIdx.x % 32 == 0) atomicAdd(total, acc);
}

__global__ void narrow_kernel(const double* total, float* out) { *out = (float)*total; }

torch::Tensor full_sum_double(torch::Tensor x) {
    auto total = torch::zeros({1}, x.options().dtype(torch::kFloat64));
    auto out = torch::empty({}, x.options());
    sum_double_kernel<<<16, 128>>>(x.data_ptr<float>(), total.data_ptr<double>(), x.numel());
    narrow_kernel<<<1, 1>>>(total.data_ptr<double>(), out.data_ptr<float>());
    return out;
}
'''

cpp_src = "torch::Tensor full_sum_double(torch::Tensor x);"

ops = load_inline(
    name="full_sum_double_atomic",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["full_sum_double"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return ops.full_sum_double(x)
