"""parameters.py: a candidate's model gets the values of the reference's, whatever it calls them, and nothing else changes.
argv[1]: the folder of runtimes. Raises AssertionError."""
import sys

import torch
from torch import nn

sys.path.insert(0, sys.argv[1])
import parameters  # noqa: E402


class Reference(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)
        self.norm = nn.BatchNorm1d(8)
        self.scale = nn.Parameter(torch.ones(1))
        self.mask = nn.Parameter(torch.full((8,), -1e9))
        self.frozen = nn.Parameter(torch.ones(8), requires_grad=False)
        self.register_buffer("box", torch.ones(3))


def made(kind):
    torch.manual_seed(5)
    return kind()


reference = made(Reference)
plan = parameters.plan(reference, 77)
assert [e["name"] for e in plan] == ["scale", "norm.weight", "norm.bias", "norm.running_mean", "norm.running_var"], plan
before = {k: v.clone() for k, v in reference.state_dict().items()}
parameters.apply(reference, plan)
sampled = {e["name"] for e in plan}
for name, value in reference.state_dict().items():
    assert torch.equal(value, before[name]) != (name in sampled), name
assert (reference.norm.running_var > 0.4).all() and (reference.norm.running_var < 1.6).all()
assert not torch.equal(parameters.sampled(plan[1]), parameters.sampled(plan[4]))
other = parameters.plan(made(Reference), 78)
assert not torch.equal(parameters.sampled(other[1]), parameters.sampled(plan[1]))


def check(kind, **pairs):
    model = made(kind)
    parameters.apply(model, plan)
    for name, wanted in pairs.items():
        got, want = model, reference
        for part in name.split("__"):
            got = getattr(got, part)
        for part in wanted.split("."):
            want = getattr(want, part)
        assert torch.equal(got.reshape(-1), want.reshape(-1)), (kind.__name__, name)
    return model


class Same(Reference):
    pass


check(Same, norm__weight="norm.weight", norm__running_mean="norm.running_mean", scale="scale")


class Flat(nn.Module):  # parts of names joined, shapes for broadcasting, a plain attribute, no use for the statistics
    def __init__(self):
        super().__init__()
        self.norm_weight = nn.Parameter(torch.ones(1, 8))
        self.norm_bias = torch.zeros(8)
        self.scale = nn.Parameter(torch.ones(1))


check(Flat, norm_weight="norm.weight", norm_bias="norm.bias", scale="scale")


class Renamed(nn.Module):  # matched by their defaults and sizes, in order
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(8, 8)
        self.gamma = nn.Parameter(torch.ones(8))
        self.beta = nn.Parameter(torch.zeros(8))
        self.factor = nn.Parameter(torch.ones(1))
        self.bn = nn.ParameterDict()
        self.register_buffer("scratch", torch.zeros(8))


model = check(Renamed, gamma="norm.weight", beta="norm.bias", factor="scale")
assert torch.equal(model.scratch, torch.zeros(8))
assert torch.equal(model.l.weight, before["linear.weight"])  # random ones agree by their seed already


class Without(nn.Module):
    pass


parameters.apply(made(Without), plan)
parameters.apply(lambda x: x, plan)  # a ModelNew need not be a module
assert parameters.plan(made(Without), 1) == []
