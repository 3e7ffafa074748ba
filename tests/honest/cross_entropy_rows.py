# class: correct
# task: cross_entropy
# features: log-sum-exp per row, atomicAdd of the mean, int64 targets
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = """
#include <torch/extension.h>

__global__ void ce_kernel(const float* logits, const int64_t* target, float* loss, int rows, int classes) {
    int row = blockIdx.x, lane = threadIdx.x;
    const float* p = logits + row * classes;
    float m = -INFINITY;
    for (int c = lane; c < classes; c += 32) m = fmaxf(m, p[c]);
    for (int o = 16; o; o >>= 1) m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, o));
    float s = 0.f;
    for (int c = lane; c < classes; c += 32) s += expf(p[c] - m);
    for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(0xffffffffu, s, o);
    if (lane == 0) atomicAdd(loss, (logf(s) + m - p[target[row]]) / rows);
}

torch::Tensor cross_entropy(torch::Tensor logits, torch::Tensor target) {
    auto loss = torch::zeros({}, logits.options());
    ce_kernel<<<logits.size(0), 32>>>(logits.data_ptr<float>(), target.data_ptr<int64_t>(), loss.data_ptr<float>(), logits.size(0), logits.size(1));
    return loss;
}
"""

cpp_src = "torch::Tensor cross_entropy(torch::Tensor logits, torch::Tensor target);"

module = load_inline(
    name="cross_entropy_rows",
    cpp_sources=cpp_src,
    cuda_sources=cuda_src,
    functions=["cross_entropy"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, logits, target):
        return module.cross_entropy(logits, target)
