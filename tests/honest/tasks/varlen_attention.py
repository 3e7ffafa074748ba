import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, q, k, v, cu):
        out = torch.zeros_like(q)
        for a, b in zip(cu[:-1].tolist(), cu[1:].tolist()):
            out[a:b] = torch.softmax(q[a:b] @ k[a:b].T * 0.25, -1) @ v[a:b]
        return out


def get_inputs():
    return [torch.randn(40, 16), torch.randn(40, 16), torch.randn(40, 16), torch.tensor([0, 7, 19, 40], dtype=torch.int32)]


def get_init_inputs():
    return []
