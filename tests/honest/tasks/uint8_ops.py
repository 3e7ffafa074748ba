import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return 255 - x, x > 100


def get_inputs():
    return [torch.randint(0, 256, (3, 45, 61), dtype=torch.uint8)]


def get_init_inputs():
    return []
