# class: correct
# task: heat
# features: CUDA graph of two steps launched four times, temporary buffer, stream of its own
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA_SRC = """
#include <torch/extension.h>

__global__ void heat_step(const float* in, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float* u = in + blockIdx.y * n;
    const bool end = i == 0 || i == n - 1;
    out[blockIdx.y * n + i] = end ? u[i] : u[i] + 0.2f * (u[i - 1] - 2.f * u[i] + u[i + 1]);
}

torch::Tensor heat_graph(torch::Tensor x) {
    auto u = x.clone();
    auto t = torch::empty_like(x);
    const int n = x.size(1);
    const dim3 grid((n + 127) / 128, x.size(0));
    float *pu = u.data_ptr<float>(), *pt = t.data_ptr<float>();
    cudaDeviceSynchronize();
    cudaStream_t stream;
    TORCH_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    TORCH_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
    heat_step<<<grid, 128, 0, stream>>>(pu, pt, n);
    heat_step<<<grid, 128, 0, stream>>>(pt, pu, n);
    TORCH_CHECK(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
    TORCH_CHECK(cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess);
    for (int k = 0; k < 4; ++k) TORCH_CHECK(cudaGraphLaunch(executable, stream) == cudaSuccess);
    TORCH_CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
    cudaGraphExecDestroy(executable);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
    return u;
}
"""

CPP_SRC = "torch::Tensor heat_graph(torch::Tensor x);"

_ext = load_inline(
    name="graph_repeated",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["heat_graph"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return _ext.heat_graph(x)
