import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, inner, width):
        super().__init__()
        self.linear = nn.Linear(inner, width)

    def forward(self, x):
        return self.linear(x)


def get_inputs():
    return [torch.randn(24, 96)]


def get_init_inputs():
    return [96, 40]
