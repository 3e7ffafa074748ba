import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, y):
        return torch.clamp(x.to(torch.int32) + y.to(torch.int32), -32768, 32767).to(torch.int16)


def get_inputs():
    return [torch.randint(-32768, 32768, (1501,), dtype=torch.int16), torch.randint(-32768, 32768, (1501,), dtype=torch.int16)]


def get_init_inputs():
    return []
