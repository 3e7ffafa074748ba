import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.bincount(((x.clamp(-4.0, 3.999) + 4.0) * 8.0).long(), minlength=64).to(torch.int32)


def get_inputs():
    return [torch.randn(4999)]


def get_init_inputs():
    return []
