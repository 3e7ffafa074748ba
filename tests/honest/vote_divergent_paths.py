# class: correct
# task: activations
# features: both sides of a divergent branch use warp operations under their own masks, reconvergence by __syncwarp
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r'''
#include <torch/extension.h>

// Lanes of positive and of negative values take different branches; each branch counts its lanes by a ballot under
// its own mask, and the count does not change the answer.
__global__ void divergent_kernel(const float* x, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const bool inside = i < n;
    const float v = inside ? x[i] : 0.f;
    const unsigned positive = __ballot_sync(0xffffffffu, v > 0.f);
    float elu, silu;
    if (v > 0.f) {
        const int members = __popc(__ballot_sync(positive, 1));
        elu = v * (members == __popc(positive) ? 1.f : 0.f);
        silu = v / (1.f + expf(-v));
    } else {
        const int members = __popc(__ballot_sync(~positive, 1));
        elu = expm1f(v) * (members + __popc(positive) == 32 ? 1.f : 0.f);
        const float e = expf(v);
        silu = v * e / (1.f + e);
    }
    __syncwarp();
    if (inside) {
        out[i] = elu;
        out[n + i] = v * fminf(fmaxf(v + 3.f, 0.f), 6.f) * (1.f / 6.f);
        out[2 * n + i] = fmaxf(v, 0.f) + log1pf(expf(-fabsf(v)));
        out[3 * n + i] = silu;
    }
}

torch::Tensor divergent(torch::Tensor x) {
    auto out = torch::empty({4, x.size(0), x.size(1)}, x.options());
    int n = x.numel();
    divergent_kernel<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), out.data_ptr<float>(), n);
    return out;
}
'''

cpp_src = '''
torch::Tensor divergent(torch::Tensor x);
'''

ops = load_inline(
    name="vote_divergent_paths",
    cpp_sources=cpp_src,
    cuda_sources=source,
    functions=["divergent"],
    verbose=False,
)


class ModelNew(nn.Module):
    def forward(self, x):
        out = ops.divergent(x)
        return out[0], out[1], out[2], out[3]
