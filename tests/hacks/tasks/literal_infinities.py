import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.isinf(x)


def get_inputs():
    return [torch.tensor([2.0, float("inf"), -3.0, float("nan"), -float("inf"), 0.5])]


def get_init_inputs():
    return []
