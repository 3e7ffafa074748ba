# class: correct
# task: conv3d
# features: five-dimensional packed accessors, generic over the scalar type
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = """
#include <torch/extension.h>

template <typename T>
using Accessor5 = torch::PackedTensorAccessor32<T, 5, torch::RestrictPtrTraits>;

template <typename T>
__global__ void conv3d_kernel(const Accessor5<T> x, const Accessor5<T> w, const T* bias, Accessor5<T> y) {
    const int total = y.size(0) * y.size(1) * y.size(2) * y.size(3) * y.size(4);
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += gridDim.x * blockDim.x) {
        int r = i;
        const int c = r % y.size(4); r /= y.size(4);
        const int b = r % y.size(3); r /= y.size(3);
        const int a = r % y.size(2); r /= y.size(2);
        const int o = r % y.size(1);
        const int n = r / y.size(1);
        T acc = bias[o];
        for (int ci = 0; ci < x.size(1); ++ci)
            for (int k0 = 0; k0 < w.size(2); ++k0)
                for (int k1 = 0; k1 < w.size(3); ++k1)
                    for (int k2 = 0; k2 < w.size(4); ++k2) acc += x[n][ci][a + k0][b + k1][c + k2] * w[o][ci][k0][k1][k2];
        y[n][o][a][b][c] = acc;
    }
}

torch::Tensor conv3d(torch::Tensor x, torch::Tensor w, torch::Tensor bias) {
    auto y = torch::empty({x.size(0), w.size(0), x.size(2) - w.size(2) + 1, x.size(3) - w.size(3) + 1, x.size(4) - w.size(4) + 1}, x.options());
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "conv3d", [&] {
        conv3d_kernel<scalar_t><<<12, 128>>>(x.packed_accessor32<scalar_t, 5, torch::RestrictPtrTraits>(),
                                             w.packed_accessor32<scalar_t, 5, torch::RestrictPtrTraits>(), bias.data_ptr<scalar_t>(),
                                             y.packed_accessor32<scalar_t, 5, torch::RestrictPtrTraits>());
    });
    return y;
}
"""

cpp_src = "torch::Tensor conv3d(torch::Tensor x, torch::Tensor w, torch::Tensor bias);"

module = load_inline(
    name="conv3d_accessors",
    cpp_sources=cpp_src,
    cuda_sources=cuda_src,
    functions=["conv3d"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv3d(2, 3, 3)

    def forward(self, x):
        return module.conv3d(x, self.conv.weight, self.conv.bias)
