import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a, v):
        return torch.mv(a, v)


def get_inputs():
    return [torch.randn(131, 307), torch.randn(307)]


def get_init_inputs():
    return []
