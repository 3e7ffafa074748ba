# class: correct
# task: heat
# features: grid.sync between steps, cooperative launch by cudaLaunchCooperativeKernel
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__global__ void heat_grid_kernel(float* a, float* b, int rows, int n, int steps) {
    cg::grid_group grid = cg::this_grid();
    float *from = a, *to = b;
    for (int s = 0; s < steps; ++s) {
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < rows * n; i += gridDim.x * blockDim.x) {
            const int c = i % n;
            to[i] = (c == 0 || c == n - 1) ? from[i] : from[i] + 0.2f * (from[i - 1] - 2.f * from[i] + from[i + 1]);
        }
        grid.sync();
        float* t = from;
        from = to;
        to = t;
    }
}

torch::Tensor heat_grid(torch::Tensor x) {
    auto a = x.clone();
    auto b = torch::empty_like(x);
    float *pa = a.data_ptr<float>(), *pb = b.data_ptr<float>();
    int rows = x.size(0), n = x.size(1), steps = 8;
    void* args[] = {&pa, &pb, &rows, &n, &steps};
    auto error = cudaLaunchCooperativeKernel((const void*)heat_grid_kernel, dim3(6), dim3(192), args, (size_t)0, (cudaStream_t)0);
    TORCH_CHECK(error == cudaSuccess, "cooperative launch: ", cudaGetErrorString(error));
    return a;
}
"""

cpp_src = "torch::Tensor heat_grid(torch::Tensor x);"

ops = load_inline(
    name="heat_cooperative_steps",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["heat_grid"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return ops.heat_grid(x)
