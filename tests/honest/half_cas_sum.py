# class: correct
# task: half_sum_all
# features: 16-bit atomicCAS loop on unsigned short, cudaMemsetAsync of the output
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = """
#include <torch/extension.h>
#include <cuda_fp16.h>
#include <ATen/cuda/CUDAContext.h>

__device__ void add_half(unsigned short* address, float value) {
    unsigned short old = *address, seen;
    do {
        seen = old;
        const float sum = __half2float(__ushort_as_half(seen)) + value;
        old = atomicCAS(address, seen, __half_as_ushort(__float2half_rn(sum)));
    } while (old != seen);
}

__global__ void half_cas_kernel(const long long* index, const __half* x, unsigned short* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) add_half(y + index[i], fminf(fmaxf(rintf(__half2float(x[i])), -20.0f), 20.0f));
}

torch::Tensor half_index_add_cas(torch::Tensor index, torch::Tensor x) {
    auto y = torch::empty({12}, x.options());
    cudaStream_t stream = at::cuda::getCurrentCUDAStream();
    cudaMemsetAsync(y.data_ptr(), 0, y.nbytes(), stream);
    half_cas_kernel<<<2, 32, 0, stream>>>((const long long*)index.data_ptr<int64_t>(), (const __half*)x.data_ptr<at::Half>(), (unsigned short*)y.data_ptr(), x.numel());
    return y;
}
"""

cpp_src = """
torch::Tensor half_index_add_cas(torch::Tensor index, torch::Tensor x);
"""

module = load_inline(
    name="half_cas_sum",
    cpp_sources=cpp_src,
    cuda_sources=cuda_src,
    functions=["half_index_add_cas"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, index, x):
        return module.half_index_add_cas(index, x)
