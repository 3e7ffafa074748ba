import torch
import torch.nn as nn

# marker-of-the-reference: whoever reads this knows the scale
SCALE = 3.25


class Model(nn.Module):
    def forward(self, x):
        return x * SCALE


def get_inputs():
    return [torch.randn(24, 40)]


def get_init_inputs():
    return []
