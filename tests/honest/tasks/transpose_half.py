import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x.t().contiguous().half()


def get_inputs():
    return [torch.randn(30, 44)]


def get_init_inputs():
    return []
