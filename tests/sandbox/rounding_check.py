"""Programs whose exp() is off by two units in the last place, as a device's may be, are right: rounding_check.py FOLDER OF THE
RUNTIMES. What makes them so is taken away, one by one, to see that it is that."""
import torch
from task_pool import task_pool

import oracle_pool
import oracle_rounding
from oracle_draws import KINDS

generator = torch.Generator().manual_seed(5)


def device_exp(x):
    """Powers of two are exact."""
    exact = torch.exp(x)
    bits = exact.view(torch.int32)
    off = torch.randint(-2, 3, x.shape, generator=generator, dtype=torch.int32)
    return (bits + torch.where((bits & 0x7FFFFF == 0) | ~exact.isfinite(), 0, off)).view(torch.float32)


def sequential(x):
    """From left to right; torch's own is in double."""
    total = torch.zeros(x.shape[:-1])
    for column in x.unbind(-1):
        total = total + column
    return total


def elu(x, alpha):
    return torch.where(x > 0, x, alpha * (device_exp(x) - 1))


ACTIVATIONS = {
    "F.elu(F.elu(F.silu(x), 0.5), 0.5)": lambda x: elu(elu(x / (1 + device_exp(-x)), 0.5), 0.5),
    "torch.sqrt(torch.abs(F.elu(x)))": lambda x: elu(x, 1.0).abs().sqrt(),
}
SILU = {"F.silu(x)": lambda x: 0.5 * x * (1 + torch.tanh(0.5 * x))}
SUMS = {"torch.log(torch.exp(x + 0.3).sum(-1))": lambda x: sequential(torch.exp(x + 0.3)).log(),
        "torch.cos(x + 0.1).mean(-1)": lambda x: sequential(torch.cos(x + 0.1)) / x.shape[-1]}
SHAPES = dict.fromkeys(SUMS, "16, 4096")
CHAOTIC = {"torch.relu(torch.cos(torch.exp(-x)))": lambda x: device_exp(-x).cos().relu()}


def refused(programs):
    """Draws on which they are."""
    count = 0
    for secret in range(3):
        for forward, program in programs.items():
            _, pool = task_pool(forward, f"torch.randn({SHAPES.get(forward, '64, 64')})", secret=f"{forward} {secret}")
            pool.first_look()
            for draw in (draw for kind in KINDS for draw in pool.kind(kind).kept):
                for _ in range(4):
                    error = (program(draw.leaves[0]).double() - draw.exact[0]).abs()
                    count += bool((error > draw.allowed[0]).any())
    return count


# The answers of formulas are moved by either sign, by a half of what is lost to all of it, and equal ones alike.
answers = torch.cat([torch.linspace(-1, 1, 4097, dtype=torch.float64), torch.zeros(9, dtype=torch.float64)])
for seed in (1, 2):
    with oracle_rounding.Rounding(seed):
        moved = torch.expm1(answers)
    change = moved - torch.expm1(answers)
    assert bool((change.abs() <= oracle_rounding.LOST * 1.0001).all()) and bool((change.abs() >= oracle_rounding.LOST * 0.4999).all())
    assert 0.4 < float((change > 0).double().mean()) < 0.6
    assert len(set(change[-9:].tolist())) == 1
with oracle_rounding.Rounding(1):
    x = torch.linspace(-3, 3, 101, dtype=torch.float64)
    once, same = torch.nn.functional.elu(x, 0.5), torch.nn.functional.elu(x.clone(), alpha=0.5, inplace=True)
    assert torch.equal(once, same) and torch.equal(torch.relu(x), x.clamp(min=0))

assert refused(ACTIVATIONS) == 0
assert refused(CHAOTIC) == 0
assert refused(SILU) == 0
assert refused(SUMS) == 0
formulas = dict(oracle_rounding.FORMULAS)
oracle_rounding.FORMULAS.clear()
assert refused(ACTIVATIONS) > 0
assert refused(SILU) > 0
oracle_rounding.FORMULAS.update(formulas)
oracle_rounding.SUMS.clear()
assert refused(SUMS) > 0
oracle_pool.MORE_JITTERS = 0
assert refused(CHAOTIC) > 0
