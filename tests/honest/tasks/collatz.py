import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Steps to 1, at most 100."""

    def forward(self, x):
        n, steps = x.clone(), torch.zeros_like(x)
        for _ in range(100):
            active = n != 1
            steps += active.to(torch.int64)
            n = torch.where(active, torch.where(n % 2 == 0, n // 2, 3 * n + 1), n)
        return steps


def get_inputs():
    return [torch.randint(1, 5000, (1999,), dtype=torch.int64)]


def get_init_inputs():
    return []
