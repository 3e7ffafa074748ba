import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a, b, c):
        return torch.cat([a, b, c], dim=1)


def get_inputs():
    return [torch.randn(19, 11), torch.randn(19, 30), torch.randn(19, 7)]


def get_init_inputs():
    return []
