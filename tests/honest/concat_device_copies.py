# class: correct
# task: concat
# features: cudaMemcpyAsync into a staging buffer, then a kernel that interleaves
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>

__global__ void interleave(const float* staged, float* y, int rows, int wa, int wb, int wc) {
    int total = wa + wb + wc;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < rows * total; i += blockDim.x * gridDim.x) {
        int r = i / total, c = i % total;
        const float* from;
        if (c < wa) from = staged + r * wa + c;
        else if (c < wa + wb) from = staged + rows * wa + r * wb + (c - wa);
        else from = staged + rows * (wa + wb) + r * wc + (c - wa - wb);
        y[i] = *from;
    }
}

torch::Tensor concat_staged(torch::Tensor a, torch::Tensor b, torch::Tensor c) {
    cudaStream_t stream = at::cuda::getCurrentCUDAStream();
    int rows = a.size(0), wa = a.size(1), wb = b.size(1), wc = c.size(1);
    auto staged = torch::empty({a.numel() + b.numel() + c.numel()}, a.options());
    float* p = staged.data_ptr<float>();
    for (const torch::Tensor& t : {a, b, c}) {
        cudaMemcpyAsync(p, t.data_ptr<float>(), t.numel() * sizeof(float), cudaMemcpyDeviceToDevice, stream);
        p += t.numel();
    }
    auto y = torch::empty({rows, wa + wb + wc}, a.options());
    interleave<<<4, 128, 0, stream>>>(staged.data_ptr<float>(), y.data_ptr<float>(), rows, wa, wb, wc);
    return y;
}
"""

cpp_src = """
torch::Tensor concat_staged(torch::Tensor a, torch::Tensor b, torch::Tensor c);
"""

ops = load_inline(
    name="concat_device_copies",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["concat_staged"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, a, b, c):
        return ops.concat_staged(a, b, c)
