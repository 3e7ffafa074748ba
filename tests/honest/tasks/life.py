import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Two steps of the game of life on a torus."""

    def forward(self, grid):
        for _ in range(2):
            n = sum(torch.roll(grid, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)) - grid
            grid = ((n == 3) | ((grid == 1) & (n == 2))).to(torch.int32)
        return grid


def get_inputs():
    return [torch.randint(0, 2, (45, 59), dtype=torch.int32)]


def get_init_inputs():
    return []
