import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """y = x * scale[channel] + shift, shift optional."""

    def __init__(self, channels, shifted):
        super().__init__()
        self.scale = nn.Parameter(torch.randn(channels))
        self.shift = nn.Parameter(torch.randn(channels)) if shifted else None

    def forward(self, x):
        y = x * self.scale.view(1, -1, 1)
        return y if self.shift is None else y + self.shift.view(1, -1, 1)


def get_inputs():
    return [torch.randn(4, 9, 55)]


def get_init_inputs():
    return [9, False]
