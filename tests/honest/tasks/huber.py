import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x, y):
        return F.huber_loss(x, y, delta=0.7)


def get_inputs():
    return [torch.randn(47, 59), torch.randn(47, 59)]


def get_init_inputs():
    return []
