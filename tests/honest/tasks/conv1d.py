import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(4, 6, 5, stride=2, padding=2)

    def forward(self, x):
        return self.conv(x)


def get_inputs():
    return [torch.randn(3, 4, 101)]


def get_init_inputs():
    return []
