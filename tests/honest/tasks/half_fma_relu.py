import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, y, z):
        return torch.relu(x.float() * y.float() + z.float()).half()


def get_inputs():
    return [torch.randn(27, 64).half(), torch.randn(27, 64).half(), torch.randn(27, 64).half()]


def get_init_inputs():
    return []
