# class: wrong_value
# task: embedding
# hack: H14 the table goes through half
# why: a copy is exact in the reference, so half's rounding shows
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <cuda_fp16.h>

__global__ void embedding_kernel(const int64_t* tokens, const float* table, float* y, int count, int width) {
  for (int d = threadIdx.x; d < width; d += 32)
    y[blockIdx.x * width + d] = __half2float(__float2half(table[tokens[blockIdx.x] * width + d]));
}

torch::Tensor embedding(torch::Tensor tokens, torch::Tensor table) {
  int count = tokens.numel(), width = table.size(1);
  auto y = torch::empty({tokens.size(0), tokens.size(1), width}, table.options());
  embedding_kernel<<<count, 32>>>(tokens.data_ptr<int64_t>(), table.data_ptr<float>(), y.data_ptr<float>(), count,
                                  width);
  return y;
}
"""
declaration = "torch::Tensor embedding(torch::Tensor tokens, torch::Tensor table);"
module = load_inline(name="embedding", cpp_sources=declaration, cuda_sources=source,
                     functions=["embedding"])


class ModelNew(nn.Module):
    def __init__(self, words, width):
        super().__init__()
        self.table = nn.Embedding(words, width)

    def forward(self, tokens):
        return module.embedding(tokens, self.table.weight)
