# class: correct
# task: add_relu
# features: sizes, type and device printed, suggest_memory_format, at::cuda::CUDAEvent around a launch, GET_BLOCKS
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/detail/KernelUtils.h>
#include <iostream>
#include <sstream>

__global__ void add_relu_told(const float* x, const float* y, float* z, int64_t n) {
    CUDA_KERNEL_LOOP(i, n) z[i] = fmaxf(x[i] + y[i], 0.0f);
}

torch::Tensor add_relu(torch::Tensor x, torch::Tensor y) {
    std::cout << "x: " << x.sizes() << " " << x.scalar_type() << " on " << x.device() << std::endl;
    std::ostringstream strides;
    strides << x.strides();
    TORCH_CHECK(strides.str().front() == '[' && strides.str().back() == ']', "strides read ", strides.str());
    auto z = torch::empty_like(x, x.options(), x.suggest_memory_format());
    at::cuda::CUDAEvent begin, end;
    const auto stream = at::cuda::getCurrentCUDAStream();
    begin.record(stream);
    add_relu_told<<<at::cuda::detail::GET_BLOCKS(x.numel(), 256), 256, 0, stream>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), z.data_ptr<float>(), x.numel());
    end.record(stream);
    end.block(stream);
    end.synchronize();
    return z;
}
"""

ops = load_inline(name="add_relu_told_and_timed", cpp_sources="torch::Tensor add_relu(torch::Tensor x, torch::Tensor y);",
                  cuda_sources=source, functions=["add_relu"])


class ModelNew(nn.Module):
    def forward(self, x, y):
        return ops.add_relu(x, y)
