import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, index):
        return torch.gather(x, 1, index)


def get_inputs():
    return [torch.randn(13, 57), torch.randint(0, 57, (13, 21))]


def get_init_inputs():
    return []
