import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, y):
        return torch.gcd(x, y)


def get_inputs():
    return [torch.randint(1, 100000, (2111,), dtype=torch.int32), torch.randint(1, 100000, (2111,), dtype=torch.int32)]


def get_init_inputs():
    return []
