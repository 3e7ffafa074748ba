import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Forward substitution: L y = b with a well-conditioned lower triangle."""

    def forward(self, a, b):
        lower = torch.tril(torch.tanh(a), -1) * 0.2
        y = []
        for i in range(b.shape[1]):
            done = b[:, i]
            for j in range(i):
                done = done - lower[:, i, j] * y[j]
            y.append(done)
        return torch.stack(y, dim=1)


def get_inputs():
    return [torch.randn(15, 20, 20), torch.randn(15, 20)]


def get_init_inputs():
    return []
