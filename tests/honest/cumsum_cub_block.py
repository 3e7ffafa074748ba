# class: correct
# task: cumsum_rows
# features: cub::BlockScan with a prefix callback, cub::BlockLoad and BlockStore
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = """
#include <torch/extension.h>
#include <cub/block/block_load.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>

struct Running {
    float total;
    __device__ float operator()(float aggregate) {
        float before = total;
        total += aggregate;
        return before;
    }
};

template <int THREADS, int ITEMS>
__global__ void cumsum_cub_kernel(const float* x, float* y, int cols) {
    using Load = cub::BlockLoad<float, THREADS, ITEMS, cub::BLOCK_LOAD_TRANSPOSE>;
    using Scan = cub::BlockScan<float, THREADS>;
    using Store = cub::BlockStore<float, THREADS, ITEMS, cub::BLOCK_STORE_TRANSPOSE>;
    __shared__ union {
        typename Load::TempStorage load;
        typename Scan::TempStorage scan;
        typename Store::TempStorage store;
    } temp;
    Running running{0.f};
    const float* in = x + blockIdx.x * cols;
    float* out = y + blockIdx.x * cols;
    for (int base = 0; base < cols; base += THREADS * ITEMS) {
        float items[ITEMS];
        const int valid = min(THREADS * ITEMS, cols - base);
        Load(temp.load).Load(in + base, items, valid, 0.f);
        __syncthreads();
        Scan(temp.scan).InclusiveSum(items, items, running);
        __syncthreads();
        Store(temp.store).Store(out + base, items, valid);
        __syncthreads();
    }
}

torch::Tensor cumsum_cub(torch::Tensor x) {
    auto y = torch::empty_like(x);
    cumsum_cub_kernel<64, 4><<<x.size(0), 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""

CPP_SRC = """
torch::Tensor cumsum_cub(torch::Tensor x);
"""

_ext = load_inline(
    name="cumsum_cub_block",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["cumsum_cub"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return _ext.cumsum_cub(x)
