import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(9, 20)

    def forward(self, i):
        return 2 * self.table(i)


def get_inputs():
    return [torch.tensor([4, 0, 7, 2])]


def get_init_inputs():
    return []
