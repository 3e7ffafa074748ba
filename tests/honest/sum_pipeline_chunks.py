# class: correct
# task: row_sum
# features: cuda::pipeline with cuda::memcpy_async per thread, two stages
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = '''
#include <torch/extension.h>
#include <cuda/pipeline>

__global__ void row_sum_pipeline_kernel(const float* x, float* y, int cols) {
    __shared__ float stage[2][128];
    __shared__ float sums[128];
    const float* row = x + blockIdx.x * cols;
    const int t = threadIdx.x, chunks = (cols + 127) / 128;
    auto pipe = cuda::make_pipeline();
    auto fetch = [&](int chunk) {
        pipe.producer_acquire();
        const int c = chunk * 128 + t;
        if (chunk < chunks && c < cols) cuda::memcpy_async(&stage[chunk & 1][t], &row[c], sizeof(float), pipe);
        pipe.producer_commit();
    };
    float acc = 0.f;
    fetch(0);
    for (int chunk = 0; chunk < chunks; ++chunk) {
        fetch(chunk + 1);
        cuda::pipeline_consumer_wait_prior<1>(pipe);
        if (chunk * 128 + t < cols) acc += stage[chunk & 1][t];
        pipe.consumer_release();
    }
    sums[t] = acc;
    __syncthreads();
    for (int s = 64; s > 0; s >>= 1) {
        if (t < s) sums[t] += sums[t + s];
        __syncthreads();
    }
    if (t == 0) y[blockIdx.x] = sums[0];
}

torch::Tensor row_sum_pipeline(torch::Tensor x) {
    auto y = torch::empty({x.size(0)}, x.options());
    row_sum_pipeline_kernel<<<x.size(0), 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
'''

CPP_SRC = '''
torch::Tensor row_sum_pipeline(torch::Tensor x);
'''

_ext = load_inline(
    name="sum_pipeline_chunks",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["row_sum_pipeline"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return _ext.row_sum_pipeline(x)
