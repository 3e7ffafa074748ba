import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, labels):
        return F.one_hot(labels, 3).float()


def get_inputs():
    return [torch.randint(0, 3, (70,))]


def get_init_inputs():
    return []
