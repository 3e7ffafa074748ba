import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x):
        return F.dropout(x, 0.0) * 2.0


def get_inputs():
    return [torch.randn(27, 71)]


def get_init_inputs():
    return []
