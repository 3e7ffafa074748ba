import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.softmax(x * 30, dim=1)


def get_inputs():
    return [torch.randn(8, 96)]


def get_init_inputs():
    return []
