import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        values, indices = torch.sort(x, dim=1, stable=True)
        return values, indices


def get_inputs():
    return [torch.randn(11, 64)]


def get_init_inputs():
    return []
