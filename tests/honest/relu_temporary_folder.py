# class: correct
# task: add_relu
# features: __file__, tempfile build directory, hash in the name, sources with format()
import hashlib
import os
import tempfile

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

HERE = os.path.dirname(os.path.abspath(__file__))
THREADS = 128

SOURCE = """
#include <torch/extension.h>

__global__ void add_relu_kernel(const float* x, const float* y, float* z, int n) {{
    int i = blockIdx.x * {threads} + threadIdx.x;
    if (i < n) z[i] = fmaxf(x[i] + y[i], 0.0f);
}}

torch::Tensor add_relu(torch::Tensor x, torch::Tensor y) {{
    auto z = torch::empty_like(x);
    int n = x.numel();
    add_relu_kernel<<<(n + {threads} - 1) / {threads}, {threads}>>>(x.data_ptr<float>(), y.data_ptr<float>(), z.data_ptr<float>(), n);
    return z;
}}
""".format(threads=THREADS)


def build():
    name = "add_relu_" + hashlib.sha1(SOURCE.encode()).hexdigest()[:8]
    folder = tempfile.mkdtemp(prefix="ext_")
    return load_inline(
        name=name,
        cpp_sources="torch::Tensor add_relu(torch::Tensor x, torch::Tensor y);",
        cuda_sources=SOURCE,
        functions=["add_relu"],
        build_directory=folder,
        verbose=False,
    )


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.ext = build()

    def forward(self, x, y):
        return self.ext.add_relu(x, y)
