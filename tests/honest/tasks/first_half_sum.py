import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x[: x.numel() // 2].sum()


def get_inputs():
    return [torch.randn(40000)]


def get_init_inputs():
    return []
