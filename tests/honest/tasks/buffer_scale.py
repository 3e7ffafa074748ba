import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("scale", torch.rand(width) + 0.5)
        self.bias = nn.Parameter(torch.randn(width))

    def forward(self, x):
        return torch.tanh(x * self.scale + self.bias)


def get_inputs():
    return [torch.randn(45, 70)]


def get_init_inputs():
    return [70]
