import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.BatchNorm2d(channels, eps=1e-3)
        self.norm.eval()

    def forward(self, x):
        return self.norm(x)


def get_inputs():
    return [torch.randn(4, 6, 9, 9)]


def get_init_inputs():
    return [6]
