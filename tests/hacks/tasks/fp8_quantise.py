import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        s = x.abs().amax(1, keepdim=True) / 448
        return (x / s).to(torch.float8_e4m3fn)


def get_inputs():
    return [torch.randn(24, 32)]


def get_init_inputs():
    return []
