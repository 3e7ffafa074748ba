# class: correct
# task: det3
# features: local array with a dynamic index, elimination with pivoting
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = r'''
#include <torch/extension.h>

__global__ void det3_kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double m[3][3];
    for (int k = 0; k < 9; ++k) m[k / 3][k % 3] = x[9 * i + k];
    double det = 1.0;
    for (int c = 0; c < 3; ++c) {
        int pivot = c;
        for (int r = c + 1; r < 3; ++r)
            if (fabs(m[r][c]) > fabs(m[pivot][c])) pivot = r;
        if (m[pivot][c] == 0.0) {
            det = 0.0;
            break;
        }
        if (pivot != c) {
            for (int k = 0; k < 3; ++k) {
                double t = m[c][k];
                m[c][k] = m[pivot][k];
                m[pivot][k] = t;
            }
            det = -det;
        }
        det *= m[c][c];
        for (int r = c + 1; r < 3; ++r) {
            double f = m[r][c] / m[c][c];
            for (int k = c; k < 3; ++k) m[r][k] -= f * m[c][k];
        }
    }
    y[i] = (float)det;
}

torch::Tensor det3(torch::Tensor x) {
    auto y = torch::empty({x.size(0)}, x.options());
    det3_kernel<<<(x.size(0) + 63) / 64, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(0));
    return y;
}
'''

CPP_SRC = '''
torch::Tensor det3(torch::Tensor x);
'''

_ext = load_inline(
    name="det3_local_array",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["det3"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return _ext.det3(x)
