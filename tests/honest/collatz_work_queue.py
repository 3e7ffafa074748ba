# class: correct
# task: collatz
# features: lanes draw work from an atomic counter, lanes leave at different times
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = '''
#include <torch/extension.h>

__global__ void collatz_queue_kernel(const int64_t* x, int64_t* steps, int* next, int n) {
    for (;;) {
        const int i = atomicAdd(next, 1);
        if (i >= n) break;
        long long v = x[i];
        int count = 0;
        for (; v != 1 && count < 100; ++count) v = (v % 2 == 0) ? v / 2 : 3 * v + 1;
        steps[i] = count;
    }
}

torch::Tensor collatz_queue(torch::Tensor x) {
    auto steps = torch::empty_like(x);
    auto next = torch::zeros({1}, x.options().dtype(torch::kInt32));
    collatz_queue_kernel<<<4, 64>>>(x.data_ptr<int64_t>(), steps.data_ptr<int64_t>(), next.data_ptr<int>(), x.numel());
    return steps;
}
'''

CPP_SRC = "torch::Tensor collatz_queue(torch::Tensor x);"

_ext = load_inline(
    name="collatz_work_queue",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["collatz_queue"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return _ext.collatz_queue(x)
