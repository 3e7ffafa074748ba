"""How inputs that a task gives alike under every seed are drawn: literals_check.py FOLDER OF THE RUNTIMES."""
import torch
from task_pool import task_pool

from oracle_test_inputs import KINDS

INFINITY = float("inf")


def pool_of(inputs, forward="x", arguments="x", released=False):
    """released: integers are drawn, as where the task says nothing of a program otherwise."""
    reference, pool = task_pool(forward, inputs, arguments)
    pool.test_inputs.plain()
    if released:
        assert any([nature.literal.release() for nature in pool.test_inputs.natures if nature.literal])
    return reference, pool


def sampled(*args, **kwargs):
    """The given leaves, and those of all test inputs, one after the other."""
    reference, pool = pool_of(*args, **kwargs)
    pool.first_look()
    return reference.inputs(0), [test_input.leaves for name in KINDS for test_input in pool.kind(name).kept]


def first(*args, **kwargs):
    given, samples = sampled(*args, **kwargs)
    return given[0], [leaves[0] for leaves in samples]


def several(tensors):
    return len({str(x.tolist()) for x in tensors}) > 1


# Floats: within their range, in order where they are in order.
given, samples = first("torch.tensor([4.0, 9.0, 2.0, 7.0])", "torch.digamma(x)")
assert several(samples) and all(2 <= float(x.min()) and float(x.max()) <= 9 for x in samples)
assert any(bool((x != x.round()).any()) for x in samples)
given, samples = first("torch.tensor([1.0, 4.0, 5.0, 8.0])", "torch.cumsum(x, 0)")
assert several(samples) and all(bool((x.diff() >= 0).all()) for x in samples)
given, samples = first("torch.tensor(0.3)", "torch.ones(5) * x")
assert several(samples) and all(0.1 < float(x) < 0.5 for x in samples)
# Zeros of a matrix are its structure, as symmetry is; masks keep how many there are.
given, samples = first("torch.tensor([[2.0, 0.0, 1.5], [0.0, 3.0, 0.0], [1.5, 0.0, 4.0]])", "x + 1")
assert several(samples) and all(bool((x[given == 0] == 0).all()) for x in samples)
given, samples = first("torch.tensor([1.0, 0.0, 0.0, 1.0, 0.0])", "x.cumsum(0)")
assert several(samples) and all(sorted(x.tolist()) == [0, 0, 0, 1, 1] for x in samples)
# What is not finite stands elsewhere, and beside infinities finite elements are large.
given, samples = first("torch.tensor([3.0, float('inf'), 1.0, float('nan'), -float('inf'), 2.0])", "torch.isinf(x)")
assert len({str(torch.isfinite(x).tolist()) for x in samples}) > 1
assert all(bool((~torch.isfinite(x)).any()) for x in samples)
assert any(float(x[torch.isfinite(x)].abs().max()) > 1e3 for x in samples if bool(torch.isfinite(x).any()))
# In each of them: what takes a large number for infinite is wrong on every test input.
assert all(float(x[torch.isfinite(x)].abs().max()) >= 1e6 * (1 - 1e-6) for x in samples)
given, samples = first("torch.tensor([3.0, float('nan'), 1.0, 2.0])", "torch.isnan(x)")
assert several(samples) and all(1 <= float(v) <= 3 for x in samples for v in x if v == v)
for text in ("torch.tensor([5.0, 3.5, 2.0, 1.0])", "torch.tensor([[5.0, 1.0, 2.0], [6.0, 3.0, 2.5], [7.0, 3.5, 8.0]])"):
    given, samples = first(text, "torch.cumsum(x, 0)")
    steps = [x.diff(dim=0) * torch.sign(given.diff(dim=0)) for x in samples]
    assert several(samples) and all(bool((step >= 0).all()) for step in steps), text
# Integers are offsets, indices or sorted keys: they stay as they are given.
for text in ("torch.tensor([0, 5, 17, 30, 48], dtype=torch.int32)", "torch.tensor([5, 2, 9, 3])", "torch.arange(6)",
             "torch.tensor([[3, 1, 0], [2, 2, 1]])", "torch.tensor([7, 7, 2, 0])"):
    given, samples = sampled(f"{text}, torch.randn(4)", "x.sum() * y", "x, y")
    assert all(torch.equal(leaves[0], given[0]) for leaves in samples), text
    assert several([leaves[1] for leaves in samples])
# Where they are drawn: among those in their range, distinct where they are.
given, samples = first("torch.tensor([5, 2, 9, 3])", "x * 2", released=True)
assert several(samples) and all(len(set(x.tolist())) == 4 and set(x.tolist()) <= set(range(2, 10)) for x in samples)
given, samples = first("torch.tensor([0, 3, 7])", "x * 2", released=True)
assert several(samples) and all(bool((x.diff() > 0).all()) and 0 <= int(x.min()) and int(x.max()) <= 7 for x in samples)
given, samples = first("torch.tensor([9, 5, 2, 2])", "x * 2", released=True)
assert several(samples) and all(bool((x.diff() <= 0).all()) for x in samples)
given, samples = first("torch.arange(6)", "x * 2", released=True)
assert several(samples) and all(sorted(x.tolist()) == list(range(6)) for x in samples)
# The reference decides what it takes: a positive definite matrix, an axis, offsets that begin with zero.
given, samples = first("torch.tensor([[4.0, 1.0], [1.0, 3.0]])", "torch.linalg.cholesky(x)")
assert all(bool(torch.isfinite(torch.linalg.cholesky(x)).all()) for x in samples)
given, samples = sampled("torch.tensor([0, 2, 3]), torch.randn(5, 4), torch.arange(5)", "F.embedding_bag(i, w, o)", "o, w, i",
                     released=True)
assert all(int(leaves[0][0]) == 0 for leaves in samples)
assert several([leaves[2] for leaves in samples])
# One value is drawn around it, or beside zero; integers of one value have no other.
given, samples = first("torch.full((4,), 2.5)", "x.exp()")
assert several(samples) and all(1.25 <= float(v) <= 3.75 for x in samples for v in x)
given, samples = first("torch.zeros(4)", "x.exp()")
assert several(samples) and all(0 <= float(v) <= 0.1 for x in samples for v in x)
given, samples = first("torch.full((4,), 3)", "x * 2.5")
assert all(torch.equal(x, given) for x in samples)
# Layouts stay: slices, transposes, what is expanded.
for layout in ("torch.arange(16)[::2]", "torch.linspace(0, 1, 16)[::2]", "torch.arange(12).view(3, 4).t()", "torch.arange(8).expand(4, 8)",
               "torch.tensor([1.0, 5.0, 2.0]).unsqueeze(1).expand(3, 6)"):
    given, samples = first(layout, "x * 2", released="arange" in layout)
    assert several(samples) and all(x.stride() == given.stride() and x.shape == given.shape for x in samples), layout
# Two boundaries are in order; targets and members stay as many in each row; what is distinct in rows stays so.
for two in ("torch.tensor([0.0, 1.0])", "torch.tensor([-0.5, 0.5])"):
    given, samples = first(two, "torch.bucketize(torch.linspace(-1, 2, 7), x)")
    assert all(bool(x[0] <= x[1]) for x in samples), two
given, samples = first("F.one_hot(torch.tensor([2, 0, 1, 3]), 5).float()", "x.cumsum(0)")
assert several(samples) and all(x.sum(-1).tolist() == [1, 1, 1, 1] for x in samples)
given, samples = first("torch.tensor([[0, 1, 2], [0, 1, 4]])", "x * 2", released=True)
assert several(samples) and all(len(set(row)) == 3 for x in samples for row in x.tolist())
given, samples = first("torch.tensor([[2, 0, 1], [1, 2, 0]])", "x * 2", released=True)
assert several(samples) and all(sorted(row) == [0, 1, 2] for x in samples for row in x.tolist())
# Methods are given up one after the other until the literal is as it is given; what an answer was like before is forgotten.
reference, pool = pool_of("torch.tensor([0, 3, 1, 2, 0, 2]), torch.randn(6, 5)", "y[torch.nonzero(x).squeeze(1)] * 2", "x, y",
                          released=True)
pool.first_look()
left = len(pool.test_inputs.natures[0].literal.methods) + 1
while pool.test_inputs.demote():
    left -= 1
    assert left > 0, "the same method is given up twice"
    pool.shapes = [(torch.Size([5, 5]), torch.float32)]
    pool.first_look()
assert torch.equal(pool.test_inputs.make("plain")[0][0], reference.inputs(0)[0])
