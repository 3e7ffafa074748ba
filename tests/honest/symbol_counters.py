# class: correct
# task: any_all
# features: __device__ arrays as scratch, zeroed by a kernel, cudaMemcpyFromSymbolAsync to a device tensor
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>

__device__ int counters[3][64];

__global__ void clear_kernel() {
    if (threadIdx.x < 64)
        for (int k = 0; k < 3; ++k) counters[k][threadIdx.x] = 0;
}
__global__ void count_kernel(const float* x, int rows, int cols) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * cols) return;
    int r = i / cols;
    if (x[i] > 2.5f) atomicOr(&counters[0][r], 1);
    if (!(x[i] > -2.5f)) atomicExch(&counters[1][r], 1);
    if (x[i] > 0.f) atomicAdd(&counters[2][r], 1);
}
__global__ void report_kernel(const int* copied, bool* any, bool* all, int64_t* count, int rows) {
    int r = threadIdx.x;
    if (r < rows) {
        any[r] = counters[0][r] != 0;
        all[r] = copied[64 + r] == 0;
        count[r] = copied[128 + r];
    }
}

std::vector<torch::Tensor> counted(torch::Tensor x) {
    const int rows = x.size(0), cols = x.size(1);
    TORCH_CHECK(rows <= 64);
    auto any = torch::empty({rows}, x.options().dtype(torch::kBool)), all = torch::empty({rows}, x.options().dtype(torch::kBool));
    auto count = torch::empty({rows}, x.options().dtype(torch::kInt64)), copied = torch::empty({3, 64}, x.options().dtype(torch::kInt32));
    cudaStream_t stream = at::cuda::getCurrentCUDAStream();
    clear_kernel<<<1, 64, 0, stream>>>();
    count_kernel<<<(rows * cols + 127) / 128, 128, 0, stream>>>(x.data_ptr<float>(), rows, cols);
    cudaMemcpyFromSymbolAsync(copied.data_ptr<int>(), counters, sizeof(int) * 3 * 64, 0, cudaMemcpyDeviceToDevice, stream);
    report_kernel<<<1, 64, 0, stream>>>(copied.data_ptr<int>(), any.data_ptr<bool>(), all.data_ptr<bool>(), count.data_ptr<int64_t>(), rows);
    return {any, all, count};
}
"""

cpp_src = "std::vector<torch::Tensor> counted(torch::Tensor x);"

ops = load_inline(
    name="symbol_counters",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["counted"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return ops.counted(x)
