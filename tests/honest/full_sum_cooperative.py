# class: correct
# task: full_sum
# features: cooperative launch, grid.sync() on a small grid, occupancy-free fixed grid
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = '''
#include <torch/extension.h>
#include <cooperative_groups.h>

__global__ void sum_grid_kernel(const float* x, float* partial, float* out, int n) {
    cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    __shared__ float s[128];
    float acc = 0.f;
    for (int i = grid.thread_rank(); i < n; i += grid.size()) acc += x[i];
    s[threadIdx.x] = acc;
    __syncthreads();
    for (int step = 64; step > 0; step >>= 1) {
        if (threadIdx.x < step) s[threadIdx.x] += s[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0) partial[blockIdx.x] = s[0];
    grid.sync();
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        float total = 0.f;
        for (int b = 0; b < gridDim.x; ++b) total += partial[b];
        *out = total;
    }
}

torch::Tensor full_sum_grid(torch::Tensor x) {
    auto partial = torch::empty({16}, x.options());
    auto out = torch::empty({}, x.options());
    const float* px = x.data_ptr<float>();
    float* pp = partial.data_ptr<float>();
    float* po = out.data_ptr<float>();
    int n = x.numel();
    void* args[] = {(void*)&px, (void*)&pp, (void*)&po, (void*)&n};
    cudaError_t e = cudaLaunchCooperativeKernel((void*)sum_grid_kernel, dim3(16), dim3(128), args, 0, 0);
    TORCH_CHECK(e == cudaSuccess, cudaGetErrorString(e));
    return out;
}
'''

cpp_src = '''
torch::Tensor full_sum_grid(torch::Tensor x);
'''

module = load_inline(
    name="full_sum_cooperative",
    cpp_sources=cpp_src,
    cuda_sources=cuda_src,
    functions=["full_sum_grid"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return module.full_sum_grid(x)
