import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, index, x):
        return torch.zeros(12, dtype=torch.float32, device=x.device).index_add(0, index, x.float().round().clamp(-20, 20)).half()


def get_inputs():
    return [torch.randint(0, 12, (36,)), torch.randint(-20, 20, (36,)).half()]


def get_init_inputs():
    return []
