# class: correct
# task: conv2d
# features: weights in __constant__ memory by a device-to-device cudaMemcpyToSymbolAsync, input tile with halo in shared memory
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>

__constant__ float c_weight[7 * 5 * 9];
__constant__ float c_bias[7];

#define T 8

__global__ void conv2d_tile_kernel(const float* x, float* y, int C, int H, int W, int O) {
    extern __shared__ float tile[];  // [C][T + 2][T + 2]
    const int n = blockIdx.z, h0 = blockIdx.y * T, w0 = blockIdx.x * T;
    const int tid = threadIdx.y * T + threadIdx.x;
    for (int i = tid; i < C * (T + 2) * (T + 2); i += T * T) {
        int c = i / ((T + 2) * (T + 2)), r = i / (T + 2) % (T + 2), q = i % (T + 2);
        int h = h0 + r - 1, w = w0 + q - 1;
        tile[i] = (h >= 0 && h < H && w >= 0 && w < W) ? x[((n * C + c) * H + h) * W + w] : 0.f;
    }
    __syncthreads();
    const int h = h0 + threadIdx.y, w = w0 + threadIdx.x;
    if (h >= H || w >= W) return;
    for (int o = 0; o < O; ++o) {
        float acc = c_bias[o];
        for (int c = 0; c < C; ++c)
#pragma unroll
            for (int k = 0; k < 9; ++k)
                acc += tile[(c * (T + 2) + threadIdx.y + k / 3) * (T + 2) + threadIdx.x + k % 3] * c_weight[(o * C + c) * 9 + k];
        y[((n * O + o) * H + h) * W + w] = acc;
    }
}

torch::Tensor conv2d_tile(torch::Tensor x, torch::Tensor w, torch::Tensor b) {
    auto stream = at::cuda::getCurrentCUDAStream();
    TORCH_CHECK(w.numel() <= 7 * 5 * 9 && b.numel() <= 7, "too many weights for constant memory");
    cudaMemcpyToSymbolAsync(c_weight, w.data_ptr<float>(), w.numel() * sizeof(float), 0, cudaMemcpyDeviceToDevice, stream);
    cudaMemcpyToSymbolAsync(c_bias, b.data_ptr<float>(), b.numel() * sizeof(float), 0, cudaMemcpyDeviceToDevice, stream);
    int N = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3), O = w.size(0);
    auto y = torch::empty({N, O, H, W}, x.options());
    size_t bytes = C * (T + 2) * (T + 2) * sizeof(float);
    conv2d_tile_kernel<<<dim3((W + T - 1) / T, (H + T - 1) / T, N), dim3(T, T), bytes, stream>>>(x.data_ptr<float>(), y.data_ptr<float>(), C, H, W, O);
    return y;
}
"""

cpp_source = """
torch::Tensor conv2d_tile(torch::Tensor x, torch::Tensor w, torch::Tensor b);
"""

conv2d_constant_weights_ext = load_inline(
    name="conv2d_constant_weights",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["conv2d_tile"],
)


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, padding):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, padding=padding)

    def forward(self, x):
        return conv2d_constant_weights_ext.conv2d_tile(x, self.conv.weight, self.conv.bias)
