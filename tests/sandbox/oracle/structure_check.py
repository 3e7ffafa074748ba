"""What all test inputs keep of what inputs have under every seed: structure_check.py FOLDER OF THE RUNTIMES."""
import torch
from task_pool import task_pool

from oracle_test_inputs import KINDS
from oracle_literals import Order


def sampled(inputs, forward="x.cumsum(0)"):
    """Of the first input: all test inputs that verifications get."""
    _, pool = task_pool(forward, inputs)
    pool.first_look()
    samples = [sample.leaves[0] for name in KINDS for sample in pool.kind(name).kept]
    assert len({str(x.double().tolist()) for x in samples}) > 1, inputs
    return samples


# A symmetry, of a matrix and of each of a batch.
for sample in sampled("(lambda a: a + a.mT)(torch.randn(9, 9))") + sampled("(lambda a: a + a.mT)(torch.randn(2, 3, 9, 9))"):
    assert torch.equal(sample, sample.mT)
assert not any(torch.equal(x, x.mT) for x in sampled("torch.randn(2, 9, 9)"))
# Doubly stochastic: rows sum to one, and it is symmetric.
for sample in sampled("torch.full((6, 6), 0.1) + 0.4 * torch.eye(6) + 0.02 * torch.rand(()) * (torch.ones(6, 6) - 6 * torch.eye(6))"):
    assert torch.equal(sample, sample.mT) and torch.allclose(sample.sum(-1), torch.ones(6), atol=1e-4)
# An order, in either direction, along any axis.
for inputs, steps in (("torch.randn(5, 40).sort(-1).values", lambda x: x.diff(dim=-1)),
                      ("torch.randn(5, 40).sort(-1, descending=True).values", lambda x: -x.diff(dim=-1)),
                      ("torch.randn(40, 5).sort(0, descending=True).values", lambda x: -x.diff(dim=0))):
    assert all(bool((steps(x) >= 0).all()) for x in sampled(inputs)), inputs
# One that a single seed shows is chance.
assert Order(torch.arange(5.0), torch.arange(5.0)) and not Order(torch.arange(5.0), torch.tensor([1.0, 0.0, 2.0, 3.0, 4.0]))
# 8-bit floats are drawn like others, and are numbers.
for kind in ("float8_e4m3fn", "float8_e5m2"):
    samples = sampled(f"(torch.randn(24, 32) * 100).clamp(-448, 448).to(torch.{kind})", "x.to(torch.float32) * 3")
    assert all(x.dtype == getattr(torch, kind) and bool(torch.isfinite(x.float()).all()) for x in samples)
