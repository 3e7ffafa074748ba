import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a, b):
        return (a * b) >> 32


def get_inputs():
    return [torch.randint(0, 2**31, (2049,), dtype=torch.int64), torch.randint(0, 2**31, (2049,), dtype=torch.int64)]


def get_init_inputs():
    return []
