# class: correct
# task: row_equal
# features: __match_all_sync with its predicate, __reduce_max_sync, __reduce_or_sync, bool and int outputs
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = '''
#include <torch/extension.h>

__global__ void row_equal_kernel(const int* x, bool* equal, int* most, int rows) {
    const int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    const int v = x[row * 32 + threadIdx.x];
    int all = 0;
    const unsigned mask = __match_all_sync(0xffffffffu, v, &all);
    const int best = __reduce_max_sync(0xffffffffu, v);
    const unsigned any = __reduce_or_sync(0xffffffffu, threadIdx.x == 0 ? 1u : 0u);
    if (threadIdx.x == 0) {
        equal[row] = all != 0 && mask == 0xffffffffu && any == 1u;
        most[row] = best;
    }
}

std::vector<torch::Tensor> row_equal(torch::Tensor x) {
    auto equal = torch::empty({x.size(0)}, x.options().dtype(torch::kBool));
    auto most = torch::empty({x.size(0)}, x.options());
    row_equal_kernel<<<(x.size(0) + 3) / 4, dim3(32, 4)>>>(x.data_ptr<int>(), equal.data_ptr<bool>(), most.data_ptr<int>(), x.size(0));
    return {equal, most};
}
'''

cpp_source = "std::vector<torch::Tensor> row_equal(torch::Tensor x);"

match_all_rows_ext = load_inline(
    name="match_all_rows",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["row_equal"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return match_all_rows_ext.row_equal(x)
