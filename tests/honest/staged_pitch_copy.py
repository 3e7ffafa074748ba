# class: correct
# task: avg_pool2d
# features: cudaMemcpy2DAsync into rows of an even pitch, then float2 loads from the pitched copy
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = '''
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>

__global__ void pool_pitched_kernel(const float* x, float* y, int H, int pitch, int OH, int OW) {
    const int ow = blockIdx.x * blockDim.x + threadIdx.x, oh = blockIdx.y, plane = blockIdx.z;
    if (ow >= OW) return;
    const float2 top = *reinterpret_cast<const float2*>(x + (plane * H + 2 * oh) * pitch + 2 * ow);
    const float2 low = *reinterpret_cast<const float2*>(x + (plane * H + 2 * oh + 1) * pitch + 2 * ow);
    y[(plane * OH + oh) * OW + ow] = ((top.x + top.y) + (low.x + low.y)) * 0.25f;
}

torch::Tensor avg_pool_pitched(torch::Tensor x) {
    const int planes = x.size(0) * x.size(1), H = x.size(2), W = x.size(3), pitch = (W + 3) / 4 * 4;
    const int OH = H / 2, OW = W / 2;
    cudaStream_t stream = at::cuda::getCurrentCUDAStream();
    auto padded = torch::empty({planes * H, pitch}, x.options());
    cudaMemcpy2DAsync(padded.data_ptr<float>(), pitch * sizeof(float), x.data_ptr<float>(), W * sizeof(float), W * sizeof(float), planes * H,
                      cudaMemcpyDeviceToDevice, stream);
    auto y = torch::empty({x.size(0), x.size(1), OH, OW}, x.options());
    pool_pitched_kernel<<<dim3((OW + 31) / 32, OH, planes), 32, 0, stream>>>(padded.data_ptr<float>(), y.data_ptr<float>(), H, pitch, OH, OW);
    return y;
}
'''

cpp_source = '''
torch::Tensor avg_pool_pitched(torch::Tensor x);
'''

staged_pitch_copy_ext = load_inline(
    name="staged_pitch_copy",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["avg_pool_pitched"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return staged_pitch_copy_ext.avg_pool_pitched(x)
