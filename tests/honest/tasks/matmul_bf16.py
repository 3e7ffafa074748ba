import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a, b):
        return torch.matmul(a.float(), b.float()).bfloat16()


def get_inputs():
    return [torch.randn(48, 64).bfloat16(), torch.randn(64, 32).bfloat16()]


def get_init_inputs():
    return []
