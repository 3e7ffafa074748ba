import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x * 2 + 1 if self.training else x


def get_inputs():
    return [torch.randn(40, 50)]


def get_init_inputs():
    return []
