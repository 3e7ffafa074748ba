# class: correct
# task: solve_lower
# features: sequential dependence: warp per system, __syncwarp between steps, shuffles of a broadcast
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>

__global__ void solve_kernel(const float* a, const float* b, float* y, int n) {
    const int lane = threadIdx.x;
    const float* m = a + blockIdx.x * n * n;
    float mine = lane < n ? b[blockIdx.x * n + lane] : 0.f;
    for (int j = 0; j < n; ++j) {
        const float solved = __shfl_sync(0xffffffffu, mine, j);
        if (lane > j && lane < n) mine -= tanhf(m[lane * n + j]) * 0.2f * solved;
        __syncwarp();
    }
    if (lane < n) y[blockIdx.x * n + lane] = mine;
}

torch::Tensor solve_lower(torch::Tensor a, torch::Tensor b) {
    TORCH_CHECK(b.size(1) <= 32, "systems of at most 32 unknowns");
    auto y = torch::empty_like(b);
    solve_kernel<<<b.size(0), 32>>>(a.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), b.size(1));
    return y;
}
"""

cpp_source = "torch::Tensor solve_lower(torch::Tensor a, torch::Tensor b);"

solve_lower_warp_ext = load_inline(
    name="solve_lower_warp",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["solve_lower"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, a, b):
        return solve_lower_warp_ext.solve_lower(a, b)
