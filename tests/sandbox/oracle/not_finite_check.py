"""Test inputs on which a reference is not finite, as it is on the task's own inputs now and then: not_finite_check.py FOLDER OF THE
RUNTIMES."""
import torch
from task_pool import task_pool

from oracle_test_inputs import KINDS


def kinds_of(forward, inputs):
    """Of each kind, the share of its test inputs' answers that is finite."""
    _, pool = task_pool(forward, inputs)
    pool.test_inputs.plain()
    pool.first_look()
    kinds = {name: pool.kind(name) for name in KINDS}
    for kind in kinds.values():
        for test_input in kind.kept:
            unknown = ~torch.isfinite(test_input.exact[0])
            # A candidate's answer is compared there as well: only an infinite allowance would let anything pass.
            assert not bool(torch.isinf(test_input.allowed[0][unknown]).any())
    return {name: [test_input.sample.finite for test_input in kind.kept] for name, kind in kinds.items()}


# One number, which is none on an eighth of the task's own inputs.
found = kinds_of("x.cos().sqrt()", "torch.randn(1)")
assert set(found["shifted"]) == {0.0} and set(found["plain"]) == {1.0}, found
# Rows that are all negative, which a plain test input holds too seldom.
found = kinds_of("x.median(1)[0].log1p()", "torch.randn(40, 32)")
assert all(0.5 <= share < 1 for share in found["structured"]), found
assert all(share == 1 for name in ("plain", "shifted", "sparse") for share in found[name]), found
# What is never negative is not made so.
found = kinds_of("x.log()", "torch.rand(40, 32) + 1e-3")
assert all(share == 1 for shares in found.values() for share in shares), found
# What half of every test input is.
found = kinds_of("x.sqrt()", "torch.randn(40, 32)")
assert all(0 < share < 1 for share in found["plain"]), found
