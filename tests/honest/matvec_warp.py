# class: correct
# task: matvec
# features: warp per row, vector staged in shared memory
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = '''
#include <torch/extension.h>

__global__ void matvec_kernel(const float* a, const float* v, float* y, int rows, int cols) {
    extern __shared__ float sv[];
    for (int i = threadIdx.x; i < cols; i += blockDim.x) sv[i] = v[i];
    __syncthreads();
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    float acc = 0.f;
    for (int c = lane; c < cols; c += 32) acc = fmaf(a[row * cols + c], sv[c], acc);
    for (int o = 16; o; o >>= 1) acc += __shfl_down_sync(0xffffffffu, acc, o);
    if (lane == 0) y[row] = acc;
}

torch::Tensor matvec(torch::Tensor a, torch::Tensor v) {
    auto y = torch::empty({a.size(0)}, a.options());
    matvec_kernel<<<(a.size(0) + 7) / 8, 256, v.numel() * sizeof(float)>>>(a.data_ptr<float>(), v.data_ptr<float>(), y.data_ptr<float>(), a.size(0), a.size(1));
    return y;
}
'''

cpp_source = "torch::Tensor matvec(torch::Tensor a, torch::Tensor v);"

matvec_warp_ext = load_inline(
    name="matvec_warp",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["matvec"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, a, v):
        return matvec_warp_ext.matvec(a, v)
