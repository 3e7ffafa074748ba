# class: extract
# task: affine
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) * 2 + 1
