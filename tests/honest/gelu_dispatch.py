# class: correct
# task: gelu
# features: AT_DISPATCH_FLOATING_TYPES_AND_HALF, acc type, template kernel, current stream, CUDAGuard
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>

template <typename scalar_t>
__global__ void gelu_forward_kernel(const scalar_t* __restrict__ x, scalar_t* __restrict__ y, size_t n) {
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= n) return;
    using acc_t = typename std::conditional<std::is_same<scalar_t, double>::value, double, float>::type;
    const acc_t v = static_cast<acc_t>(x[i]);
    y[i] = static_cast<scalar_t>(v * acc_t(0.5) * (acc_t(1) + erf(v * acc_t(0.70710678118654752440))));
}

torch::Tensor gelu_forward(torch::Tensor x) {
    TORCH_CHECK(x.device().is_cuda(), "expected a CUDA tensor, got ", x.device());
    const c10::cuda::CUDAGuard guard(x.device());
    auto y = torch::empty_like(x);
    const int threads = 192;
    const dim3 blocks((x.numel() + threads - 1) / threads);
    cudaStream_t stream = at::cuda::getCurrentCUDAStream();
    AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "gelu_forward", ([&] {
        gelu_forward_kernel<scalar_t><<<blocks, threads, 0, stream>>>(
            x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), x.numel());
    }));
    C10_CUDA_CHECK(cudaGetLastError());
    return y;
}
"""

cpp_src = "torch::Tensor gelu_forward(torch::Tensor x);"

module = load_inline(
    name="gelu_dispatch",
    cpp_sources=cpp_src,
    cuda_sources=cuda_src,
    functions=["gelu_forward"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return module.gelu_forward(x)
