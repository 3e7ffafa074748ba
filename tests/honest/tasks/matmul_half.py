import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a, b):
        return torch.matmul(a.float(), b.float()).half()


def get_inputs():
    return [torch.randn(67, 129).half(), torch.randn(129, 93).half()]


def get_init_inputs():
    return []
