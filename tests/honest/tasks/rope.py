import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, angles):
        x1, x2 = x[..., :16], x[..., 16:]
        c, s = torch.cos(angles), torch.sin(angles)
        return torch.cat([x1 * c - x2 * s, x1 * s + x2 * c], dim=-1)


def get_inputs():
    return [torch.randn(3, 21, 32), torch.rand(21, 16) * 6.0]


def get_init_inputs():
    return []
