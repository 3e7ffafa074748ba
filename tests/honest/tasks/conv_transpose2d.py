import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.ConvTranspose2d(4, 3, 4, stride=2, padding=1)

    def forward(self, x):
        return self.up(x)


def get_inputs():
    return [torch.randn(2, 4, 9, 11)]


def get_init_inputs():
    return []
