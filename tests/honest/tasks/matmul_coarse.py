import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a, b):
        return torch.matmul(a.half().float(), b.half().float())


def get_inputs():
    return [torch.randn(32, 48), torch.randn(48, 32)]


def get_init_inputs():
    return []
