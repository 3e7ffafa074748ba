# class: correct
# task: exclusive_scan
# features: Blelloch up-sweep and down-sweep on int64 in shared memory, conflict-free offsets
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>

#define CONFLICT_FREE(i) ((i) + ((i) >> 4))

__global__ void blelloch_kernel(const int64_t* x, int64_t* y, int n) {
    extern __shared__ int64_t temp[];
    const int t = threadIdx.x, row = blockIdx.x * n;
    temp[CONFLICT_FREE(t)] = x[row + t];
    temp[CONFLICT_FREE(t + n / 2)] = x[row + t + n / 2];
    int offset = 1;
    for (int d = n >> 1; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d) {
            int ai = CONFLICT_FREE(offset * (2 * t + 1) - 1), bi = CONFLICT_FREE(offset * (2 * t + 2) - 1);
            temp[bi] += temp[ai];
        }
        offset *= 2;
    }
    if (t == 0) temp[CONFLICT_FREE(n - 1)] = 0;
    for (int d = 1; d < n; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (t < d) {
            int ai = CONFLICT_FREE(offset * (2 * t + 1) - 1), bi = CONFLICT_FREE(offset * (2 * t + 2) - 1);
            int64_t v = temp[ai];
            temp[ai] = temp[bi];
            temp[bi] += v;
        }
    }
    __syncthreads();
    y[row + t] = temp[CONFLICT_FREE(t)];
    y[row + t + n / 2] = temp[CONFLICT_FREE(t + n / 2)];
}

torch::Tensor exclusive_scan(torch::Tensor x) {
    const int n = x.size(1);
    TORCH_CHECK((n & (n - 1)) == 0 && n <= 2048, "a power of two up to 2048 expected");
    auto y = torch::empty_like(x);
    blelloch_kernel<<<x.size(0), n / 2, (n + n / 16) * sizeof(int64_t)>>>(x.data_ptr<int64_t>(), y.data_ptr<int64_t>(), n);
    return y;
}
"""

cpp_source = "torch::Tensor exclusive_scan(torch::Tensor x);"

exclusive_scan_blelloch_ext = load_inline(
    name="exclusive_scan_blelloch",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["exclusive_scan"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return exclusive_scan_blelloch_ext.exclusive_scan(x)
