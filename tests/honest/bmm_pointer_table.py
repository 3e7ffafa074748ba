# class: correct
# task: bmm
# features: table of pointers uploaded with cudaMemcpy, one entry a batch
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>
#include <vector>

__global__ void bmm_table_kernel(const float* const* As, const float* const* Bs, float* const* Cs, int M, int K, int N) {
    const float* A = As[blockIdx.z];
    const float* B = Bs[blockIdx.z];
    float* C = Cs[blockIdx.z];
    int m = blockIdx.y * blockDim.y + threadIdx.y, n = blockIdx.x * blockDim.x + threadIdx.x;
    if (m < M && n < N) {
        float acc = 0.f;
        for (int k = 0; k < K; k++) acc += A[m * K + k] * B[k * N + n];
        C[m * N + n] = acc;
    }
}

torch::Tensor bmm_by_table(torch::Tensor a, torch::Tensor b) {
    int batch = a.size(0), M = a.size(1), K = a.size(2), N = b.size(2);
    auto c = torch::empty({batch, M, N}, a.options());
    std::vector<float*> host(3 * batch);
    for (int i = 0; i < batch; ++i) {
        host[i] = a.data_ptr<float>() + i * M * K;
        host[batch + i] = b.data_ptr<float>() + i * K * N;
        host[2 * batch + i] = c.data_ptr<float>() + i * M * N;
    }
    float** table;
    cudaMalloc(&table, host.size() * sizeof(float*));
    cudaMemcpy(table, host.data(), host.size() * sizeof(float*), cudaMemcpyHostToDevice);
    bmm_table_kernel<<<dim3((N + 15) / 16, (M + 7) / 8, batch), dim3(16, 8)>>>(table, table + batch, table + 2 * batch, M, K, N);
    cudaFree(table);
    return c;
}
"""

cpp_source = """
torch::Tensor bmm_by_table(torch::Tensor a, torch::Tensor b);
"""

bmm_pointer_table_ext = load_inline(
    name="bmm_pointer_table",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["bmm_by_table"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, a, b):
        return bmm_pointer_table_ext.bmm_by_table(a, b)
