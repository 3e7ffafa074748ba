import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return ((0.25 * x - 1.5) * x + 2.0) * x - 0.75


def get_inputs():
    return [torch.randn(2001, dtype=torch.float64)]


def get_init_inputs():
    return []
