# class: correct
# task: full_sum
# features: __threadfence and a ticket counter: the last block finishes; device counter reset for the next run
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = '''
#include <torch/extension.h>

__device__ unsigned int ticket_counter = 0;

__global__ void sum_ticket_kernel(const float* x, volatile float* partial, float* out, int n) {
    __shared__ float s[256];
    __shared__ bool last;
    float acc = 0.f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) acc += x[i];
    s[threadIdx.x] = acc;
    __syncthreads();
    for (int step = 128; step > 0; step >>= 1) {
        if (threadIdx.x < step) s[threadIdx.x] += s[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = s[0];
        __threadfence();
        unsigned int ticket = atomicInc(&ticket_counter, gridDim.x);
        last = ticket == gridDim.x - 1;
    }
    __syncthreads();
    if (last) {
        float total = threadIdx.x < gridDim.x ? partial[threadIdx.x] : 0.f;
        s[threadIdx.x] = total;
        __syncthreads();
        for (int step = 128; step > 0; step >>= 1) {
            if (threadIdx.x < step) s[threadIdx.x] += s[threadIdx.x + step];
            __syncthreads();
        }
        if (threadIdx.x == 0) {
            *out = s[0];
            ticket_counter = 0;
        }
    }
}

torch::Tensor full_sum_ticket(torch::Tensor x) {
    const int blocks = 30;
    auto partial = torch::empty({blocks}, x.options());
    auto out = torch::empty({}, x.options());
    sum_ticket_kernel<<<blocks, 256>>>(x.data_ptr<float>(), partial.data_ptr<float>(), out.data_ptr<float>(), x.numel());
    return out;
}
'''

cpp_source = "torch::Tensor full_sum_ticket(torch::Tensor x);"

full_sum_last_block_ext = load_inline(
    name="full_sum_last_block",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["full_sum_ticket"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return full_sum_last_block_ext.full_sum_ticket(x)
