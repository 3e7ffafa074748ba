import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.cumsum(x, dim=0)


def get_inputs():
    return [torch.randint(-50, 50, (4099,), dtype=torch.int32)]


def get_init_inputs():
    return []
