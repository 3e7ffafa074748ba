import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(dim=1, keepdim=True) + 1e-3)


def get_inputs():
    return [torch.randn(8, 2048)]


def get_init_inputs():
    return []
