# class: correct
# task: update_rows
# features: clone of the input, every other row changed in place, rest stays a copy
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>

__global__ void update_rows_kernel(float* y, const float* delta, int rows, int cols) {
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y;
    if (c < cols && r < rows) y[2 * r * cols + c] += delta[r * cols + c];
}

torch::Tensor update_rows(torch::Tensor x, torch::Tensor delta) {
    auto y = x.clone();
    update_rows_kernel<<<dim3((x.size(1) + 31) / 32, delta.size(0)), 32>>>(y.data_ptr<float>(), delta.data_ptr<float>(), delta.size(0), x.size(1));
    return y;
}
"""

cpp_source = """
torch::Tensor update_rows(torch::Tensor x, torch::Tensor delta);
"""

update_rows_clone_ext = load_inline(
    name="update_rows_clone",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["update_rows"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, delta):
        return update_rows_clone_ext.update_rows(x, delta)
