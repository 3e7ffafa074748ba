import torch
import torch.nn as nn
import torch.nn.functional as F

class Model(nn.Module):
    def __init__(self, v, d):
        super(Model, self).__init__()
        self.e = nn.Embedding(v, d)
    def forward(self, i):
        return self.e(i)

def get_inputs():
    return [torch.randint(0, 100000, (16, 32))]

def get_init_inputs():
    return [100000, 4]
