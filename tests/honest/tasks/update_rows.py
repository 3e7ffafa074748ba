import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, delta):
        y = x.clone()
        y[::2] += delta
        return y


def get_inputs():
    return [torch.randn(38, 44), torch.randn(19, 44)]


def get_init_inputs():
    return []
