import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.flip(x, [1])


def get_inputs():
    return [torch.randn(20, 61)]


def get_init_inputs():
    return []
