import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.argmax(torch.round(x * 2), dim=1)


def get_inputs():
    return [torch.randn(47, 333)]


def get_init_inputs():
    return []
