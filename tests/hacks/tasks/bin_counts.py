import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, labels):
        return (labels.unsqueeze(-1) == torch.arange(8, device=labels.device)).sum(dim=1)


def get_inputs():
    return [torch.randint(0, 8, (10, 90))]


def get_init_inputs():
    return []
