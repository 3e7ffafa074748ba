# class: correct
# task: add_relu
# features: two streams, events, cudaStreamWaitEvent, halves of one tensor
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = r"""
#include <torch/extension.h>
#include <c10/cuda/CUDAStream.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>

__global__ void add_relu_part(const float* a, const float* b, float* c, int begin, int end) {
    int i = begin + blockIdx.x * blockDim.x + threadIdx.x;
    if (i < end) c[i] = fmaxf(a[i] + b[i], 0.f);
}

torch::Tensor add_relu_streams(torch::Tensor a, torch::Tensor b) {
    auto c = torch::empty_like(a);
    int n = a.numel(), half = n / 2 + 5;
    cudaStream_t main = at::cuda::getCurrentCUDAStream();
    cudaStream_t side;
    cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
    cudaEvent_t ready, done;
    cudaEventCreateWithFlags(&ready, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
    cudaEventRecord(ready, main);
    cudaStreamWaitEvent(side, ready, 0);
    add_relu_part<<<(half + 255) / 256, 256, 0, main>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), 0, half);
    add_relu_part<<<(n - half + 255) / 256, 256, 0, side>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), half, n);
    cudaEventRecord(done, side);
    cudaStreamWaitEvent(main, done, 0);
    cudaStreamSynchronize(side);
    cudaEventDestroy(ready);
    cudaEventDestroy(done);
    cudaStreamDestroy(side);
    return c;
}
"""

CPP_SRC = """
torch::Tensor add_relu_streams(torch::Tensor a, torch::Tensor b);
"""

_ext = load_inline(
    name="add_relu_streams",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["add_relu_streams"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, a, b):
        return _ext.add_relu_streams(a, b)
