import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a, b):
        return torch.matmul(a.float(), b.float())


def get_inputs():
    return [torch.randn(64, 96).half(), torch.randn(96, 80).half()]


def get_init_inputs():
    return []
