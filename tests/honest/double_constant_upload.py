# class: correct
# task: double_poly
# features: cudaMemcpyToSymbol of coefficients, double2 vectors with a tail
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r'''
#include <torch/extension.h>

__constant__ double c[4];

__device__ double p(double v) { return ((c[0] * v + c[1]) * v + c[2]) * v + c[3]; }

__global__ void poly_kernel(const double2* x, double2* y, const double* tail_in, double* tail_out, int pairs, int tail) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < pairs) {
        double2 v = x[i];
        y[i] = make_double2(p(v.x), p(v.y));
    }
    if (blockIdx.x == 0 && threadIdx.x < tail) tail_out[threadIdx.x] = p(tail_in[threadIdx.x]);
}

torch::Tensor poly(torch::Tensor x) {
    const double host[4] = {0.25, -1.5, 2.0, -0.75};
    cudaMemcpyToSymbol(c, host, sizeof(host));
    auto y = torch::empty_like(x);
    int n = x.numel(), pairs = n / 2;
    poly_kernel<<<(pairs + 127) / 128, 128>>>((const double2*)x.data_ptr<double>(), (double2*)y.data_ptr<double>(),
                                              x.data_ptr<double>() + 2 * pairs, y.data_ptr<double>() + 2 * pairs, pairs, n - 2 * pairs);
    return y;
}
'''

cpp_src = '''
torch::Tensor poly(torch::Tensor x);
'''

ops = load_inline(
    name="double_constant_upload",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["poly"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return ops.poly(x)
