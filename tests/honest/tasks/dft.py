import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.view_as_real(torch.fft.fft(x))


def get_inputs():
    return [torch.randn(5, 64)]


def get_init_inputs():
    return []
