# class: correct
# task: mean_square
# features: host helpers: lambdas, ceil division templates, std::string messages, try and catch in the host part
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = '''
#include <torch/extension.h>
#include <string>
#include <stdexcept>

namespace detail {
template <typename T>
constexpr T ceil_div(T a, T b) {
    return (a + b - 1) / b;
}
inline void check(bool ok, const std::string& what) {
    if (!ok) throw std::runtime_error("mean_square: " + what);
}
}  // namespace detail

__global__ void sum_squares(const float* x, float* out, int n, float inverse) {
    __shared__ float total;
    if (threadIdx.x == 0) total = 0.f;
    __syncthreads();
    float acc = 0.f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) acc += x[i] * x[i];
    atomicAdd(&total, acc);
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(out, total * inverse);
}

torch::Tensor mean_square_careful(torch::Tensor x) {
    auto out = torch::zeros({}, x.options());
    auto launch = [&](int threads) {
        detail::check(threads % 32 == 0, "threads must be a multiple of 32, not " + std::to_string(threads));
        const int n = static_cast<int>(x.numel());
        sum_squares<<<detail::ceil_div(n, 16 * threads), threads>>>(x.data_ptr<float>(), out.data_ptr<float>(), n, 1.0f / n);
    };
    try {
        launch(128);
    } catch (const std::exception& e) {
        TORCH_CHECK(false, e.what());
    }
    return out;
}
'''

cpp_src = "torch::Tensor mean_square_careful(torch::Tensor x);"

ops = load_inline(
    name="functional_namespace_host",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["mean_square_careful"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return ops.mean_square_careful(x)
