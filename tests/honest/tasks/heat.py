import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Eight explicit steps of the heat equation with fixed ends."""

    def forward(self, x):
        for _ in range(8):
            inner = x[:, 1:-1] + 0.2 * (x[:, :-2] - 2.0 * x[:, 1:-1] + x[:, 2:])
            x = torch.cat([x[:, :1], inner, x[:, -1:]], dim=1)
        return x


def get_inputs():
    return [torch.randn(5, 203)]


def get_init_inputs():
    return []
