import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, y):
        return x > y, (x > 0) & (y > 0)


def get_inputs():
    return [torch.randn(57, 83), torch.randn(57, 83)]


def get_init_inputs():
    return []
