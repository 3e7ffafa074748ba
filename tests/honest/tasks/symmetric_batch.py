import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, a, v):
        return torch.bmm(a, v.unsqueeze(2)).squeeze(2)


def get_inputs():
    a = torch.randn(3, 48, 48)
    return [(a + a.transpose(1, 2)) / 2, torch.randn(3, 48)]


def get_init_inputs():
    return []
