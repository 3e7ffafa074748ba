import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.sqrt(x.mean(dim=1))


def get_inputs():
    return [torch.randn(44, 24) + 0.8]


def get_init_inputs():
    return []
