import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x, y):
        return (1.0 - F.cosine_similarity(x, y, dim=1)).mean()


def get_inputs():
    return [torch.randn(39, 85), torch.randn(39, 85)]


def get_init_inputs():
    return []
