# class: correct
# task: add_relu
# features: cudaLaunchConfig_t and cudaLaunchKernelEx, __grid_constant__ struct argument
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = '''
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>

struct Arguments {
    const float* a;
    const float* b;
    float* c;
    int n;
};

__global__ void add_relu_ex_kernel(const __grid_constant__ Arguments args) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < args.n) args.c[i] = fmaxf(args.a[i] + args.b[i], 0.f);
}

torch::Tensor add_relu_ex(torch::Tensor x, torch::Tensor y) {
    auto out = torch::empty_like(x);
    Arguments args{x.data_ptr<float>(), y.data_ptr<float>(), out.data_ptr<float>(), (int)x.numel()};
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((args.n + 127) / 128);
    config.blockDim = dim3(128);
    config.dynamicSmemBytes = 0;
    config.stream = at::cuda::getCurrentCUDAStream();
    cudaError_t error = cudaLaunchKernelEx(&config, add_relu_ex_kernel, args);
    TORCH_CHECK(error == cudaSuccess, cudaGetErrorString(error));
    return out;
}
'''

CPP_SRC = "torch::Tensor add_relu_ex(torch::Tensor x, torch::Tensor y);"

_ext = load_inline(
    name="launch_config_ex",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["add_relu_ex"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, y):
        return _ext.add_relu_ex(x, y)
