import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x.clamp(-2.5, 2.5).t().contiguous()


def get_inputs():
    return [torch.randn(30, 44)]


def get_init_inputs():
    return []
