# class: correct
# task: embedding
# features: nn.Embedding's table, int64 indices, row per warp, __ldcs and __stcs
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = '''
#include <torch/extension.h>

__global__ void embedding_kernel(const int64_t* indices, const float* table, float* out, int count, int width) {
    int which = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (which >= count) return;
    const int64_t row = __ldg(reinterpret_cast<const long long*>(indices) + which);
    for (int c = threadIdx.x % 32; c < width; c += 32) __stcs(out + which * width + c, __ldcs(table + row * width + c));
}

torch::Tensor embedding(torch::Tensor indices, torch::Tensor table) {
    std::vector<int64_t> shape = indices.sizes().vec();
    shape.push_back(table.size(1));
    auto out = torch::empty(shape, table.options());
    int count = indices.numel();
    embedding_kernel<<<(count + 3) / 4, 128>>>(indices.data_ptr<int64_t>(), table.data_ptr<float>(), out.data_ptr<float>(), count, table.size(1));
    return out;
}
'''

cpp_source = "torch::Tensor embedding(torch::Tensor indices, torch::Tensor table);"

embedding_lookup_ext = load_inline(
    name="embedding_lookup",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["embedding"],
)


class ModelNew(nn.Module):
    def __init__(self, rows, width):
        super().__init__()
        self.table = nn.Embedding(rows, width)

    def forward(self, indices):
        return embedding_lookup_ext.embedding(indices, self.table.weight)
