import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, bias):
        return (x.float() + bias.float()).bfloat16()


def get_inputs():
    return [torch.randn(29, 130).bfloat16(), torch.randn(130).bfloat16()]


def get_init_inputs():
    return []
