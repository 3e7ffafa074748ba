import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x - 3.0)


def get_inputs():
    return [torch.randn(6, 8)]


def get_init_inputs():
    return []
