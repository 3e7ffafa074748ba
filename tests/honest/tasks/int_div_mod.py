import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, y):
        return torch.div(x, y, rounding_mode="trunc"), torch.fmod(x, y), torch.div(x, y, rounding_mode="floor")


def get_inputs():
    return [torch.randint(-100000, 100000, (3001,), dtype=torch.int32), torch.randint(1, 997, (3001,), dtype=torch.int32)]


def get_init_inputs():
    return []
