import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x.unfold(1, 4, 2).contiguous()


def get_inputs():
    return [torch.randn(12, 50)]


def get_init_inputs():
    return []
