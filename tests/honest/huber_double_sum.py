# class: correct
# task: huber
# features: branch on the error, sum in double, fabsf
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = '''
#include <torch/extension.h>

__global__ void huber_kernel(const float* x, const float* y, float* out, float delta, int n) {
    __shared__ double s[128];
    double acc = 0.0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        float e = fabsf(x[i] - y[i]);
        acc += e <= delta ? 0.5f * e * e : delta * (e - 0.5f * delta);
    }
    s[threadIdx.x] = acc;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 1; i < 128; ++i) acc += s[i];
        *out = (float)(acc / n);
    }
}

torch::Tensor huber(torch::Tensor x, torch::Tensor y, double delta) {
    auto out = torch::empty({}, x.options());
    huber_kernel<<<1, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), out.data_ptr<float>(), delta, x.numel());
    return out;
}
'''

cpp_src = '''
torch::Tensor huber(torch::Tensor x, torch::Tensor y, double delta);
'''

ops = load_inline(
    name="huber_double_sum",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["huber"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, y):
        return ops.huber(x, y, 0.7)
