# class: correct
# task: softmax
# features: three passes per row, block per row, reductions in shared memory
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>
#include <float.h>

__global__ void softmax_kernel(const float* input, float* output, int n) {
    extern __shared__ float sdata[];
    int tid = threadIdx.x;
    const float* in = input + blockIdx.x * n;
    float* out = output + blockIdx.x * n;

    float max_val = -FLT_MAX;
    for (int i = tid; i < n; i += blockDim.x) max_val = max(max_val, in[i]);
    sdata[tid] = max_val;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) sdata[tid] = fmaxf(sdata[tid], sdata[tid + s]);
        __syncthreads();
    }
    max_val = sdata[0];
    __syncthreads();

    float sum = 0.0f;
    for (int i = tid; i < n; i += blockDim.x) {
        float e = expf(in[i] - max_val);
        out[i] = e;
        sum += e;
    }
    sdata[tid] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) sdata[tid] += sdata[tid + s];
        __syncthreads();
    }
    sum = sdata[0];
    for (int i = tid; i < n; i += blockDim.x) out[i] /= sum;
}

torch::Tensor softmax(torch::Tensor x) {
    auto out = torch::empty_like(x);
    const int threads = 64;
    softmax_kernel<<<x.size(0), threads, threads * sizeof(float)>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.size(1));
    return out;
}
"""

cpp_source = """
torch::Tensor softmax(torch::Tensor x);
"""

softmax_block_ext = load_inline(
    name="softmax_block",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["softmax"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return softmax_block_ext.softmax(x)
