# class: correct
# task: add_relu
# features: CUDA graph captured around plain launches, replayed once, stream by cudaStreamCreate
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = """
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void add_k(const float* a, const float* b, float* t, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) t[i] = a[i] + b[i];
}
__global__ void relu_k(float* t, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && t[i] < 0.f) t[i] = 0.f;
}

torch::Tensor graph_add_relu(torch::Tensor a, torch::Tensor b) {
    auto out = torch::empty_like(a);
    int n = a.numel();
    const float *pa = a.data_ptr<float>(), *pb = b.data_ptr<float>();
    float* po = out.data_ptr<float>();
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    cudaGraph_t graph;
    cudaGraphExec_t instance;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    add_k<<<(n + 255) / 256, 256, 0, stream>>>(pa, pb, po, n);
    relu_k<<<(n + 255) / 256, 256, 0, stream>>>(po, n);
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&instance, graph, 0);
    cudaGraphLaunch(instance, stream);
    cudaStreamSynchronize(stream);
    cudaGraphExecDestroy(instance);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
    return out;
}
"""

cpp_src = """
torch::Tensor graph_add_relu(torch::Tensor a, torch::Tensor b);
"""

module = load_inline(
    name="add_relu_graph",
    cpp_sources=cpp_src,
    cuda_sources=cuda_src,
    functions=["graph_add_relu"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, a, b):
        return module.graph_add_relu(a, b)
