import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Of 32-bit words: number of ones, bits reversed, bytes reversed, leading zeros."""

    def forward(self, x):
        ones, reverse, leading = torch.zeros_like(x), torch.zeros_like(x), torch.full_like(x, 32)
        for i in range(32):
            bit = (x >> i) & 1
            ones += bit
            reverse |= bit << (31 - i)
            leading = torch.where(bit == 1, 31 - i, leading)
        swapped = ((x & 0xFF) << 24) | ((x & 0xFF00) << 8) | ((x >> 8) & 0xFF00) | ((x >> 24) & 0xFF)
        return torch.stack([ones, reverse, swapped, leading])


def get_inputs():
    return [torch.randint(0, 2**32, (1777,), dtype=torch.int64)]


def get_init_inputs():
    return []
