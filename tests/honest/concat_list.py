# class: correct
# task: concat
# features: a list of tensors as argument, one launch each, offsets summed on the host
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = '''
#include <torch/extension.h>
#include <vector>

__global__ void place_kernel(const float* x, float* y, int rows, int cols, int total, int offset) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * cols) y[(i / cols) * total + offset + i % cols] = x[i];
}

torch::Tensor concat(std::vector<torch::Tensor> parts) {
    TORCH_CHECK(!parts.empty(), "nothing to join");
    int rows = parts[0].size(0), total = 0;
    for (const auto& p : parts) {
        TORCH_CHECK(p.size(0) == rows, "rows differ");
        total += p.size(1);
    }
    auto y = torch::empty({rows, total}, parts[0].options());
    int offset = 0;
    for (auto& p : parts) {
        int cols = p.size(1);
        place_kernel<<<(rows * cols + 127) / 128, 128>>>(p.contiguous().data_ptr<float>(), y.data_ptr<float>(), rows, cols, total, offset);
        offset += cols;
    }
    return y;
}
'''

cpp_source = '''
torch::Tensor concat(std::vector<torch::Tensor> parts);
'''

concat_list_ext = load_inline(
    name="concat_list",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["concat"],
)


class ModelNew(nn.Module):
    def forward(self, a, b, c):
        return concat_list_ext.concat([a, b, c])
