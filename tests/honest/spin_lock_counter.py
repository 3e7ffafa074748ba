# class: correct
# task: histogram
# features: a spin lock per bin taken lane by lane (atomicCAS, __threadfence, atomicExch), legal on Volta and later
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>

__device__ int locks[64];

__global__ void histogram_locked_kernel(const int64_t* x, volatile int64_t* bins, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int bin = (int)x[i];
    bool done = false;
    while (!done) {
        if (atomicCAS(&locks[bin], 0, 1) == 0) {
            __threadfence();
            bins[bin] = bins[bin] + 1;
            __threadfence();
            atomicExch(&locks[bin], 0);
            done = true;
        }
    }
}

torch::Tensor histogram_locked(torch::Tensor x) {
    auto bins = torch::zeros({64}, x.options());
    int n = x.numel();
    histogram_locked_kernel<<<(n + 127) / 128, 128>>>(x.data_ptr<int64_t>(), bins.data_ptr<int64_t>(), n);
    return bins;
}
"""

cpp_source = """
torch::Tensor histogram_locked(torch::Tensor x);
"""

spin_lock_counter_ext = load_inline(
    name="spin_lock_counter",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["histogram_locked"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return spin_lock_counter_ext.histogram_locked(x)
