"""Programs whose exp() is off by two units in the last place, as a device's may be, are right, and what is made for them makes
no wrong ones right: rounding_check.py FOLDER OF THE RUNTIMES. What does either is taken away, one by one, to see that it is
that."""
import torch
import torch.nn.functional as F
from task_pool import task_pool

import oracle_pool
import oracle_rounding
import oracle_sums
from oracle_test_inputs import KINDS
from oracle_profile import Spread

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


def quick_sequential(x):
    """The same, as is checked below."""
    rows = x.reshape(-1, x.shape[-1])
    lengths = torch.full((rows.shape[0],), rows.shape[1])
    return torch.segment_reduce(rows.reshape(-1), "sum", lengths=lengths, unsafe=True).reshape(x.shape[:-1])


def mean(x):
    return (quick_sequential(x) / x.shape[-1]).unsqueeze(-1)


def elu(x, alpha):
    return torch.where(x > 0, x, alpha * (device_exp(x) - 1))


ACTIVATIONS = {
    "F.elu(F.elu(F.silu(x), 0.5), 0.5)": lambda x: elu(elu(x / (1 + device_exp(-x)), 0.5), 0.5),
    "torch.sqrt(torch.abs(F.elu(x)))": lambda x: elu(x, 1.0).abs().sqrt(),
}
SILU = {"F.silu(x)": lambda x: 0.5 * x * (1 + torch.tanh(0.5 * x))}
SUMS = {"torch.log(torch.exp(x + 0.3).sum(-1))": lambda x: sequential(torch.exp(x + 0.3)).log(),
        "torch.cos(x + 0.1).mean(-1)": lambda x: sequential(torch.cos(x + 0.1)) / x.shape[-1]}
# Equal terms, of which a test input has some, lose a few thousandths of themselves each, and long rows more than a term that is
# missing.
LONG_SUMS = {"torch.mean(x, -1)": lambda x: quick_sequential(x) / x.shape[-1],
             "F.softmax(x, 1)": lambda x: softmax(x, quick_sequential),
             "x.std(1)": lambda x: (quick_sequential((x - mean(x)).square()) / (x.shape[-1] - 1)).sqrt(),
             "x.var(1, unbiased=False)": lambda x: quick_sequential((x - mean(x)).square()) / x.shape[-1],
             "x.norm(dim=1)": lambda x: quick_sequential(x * x).sqrt(),
             "F.layer_norm(x, (65536,))": lambda x: (x - mean(x)) / (mean((x - mean(x)).square()) + 1e-5).sqrt()}
# Rows as long as this, so that it does not depend on the CPU whether what they lose is seen.
SUMS_INSIDE = {"torch.softmax(x, -1)": lambda x: softmax(x, quick_sequential)}
CHAOTIC = {"torch.relu(torch.cos(torch.exp(-x)))": lambda x: device_exp(-x).cos().relu()}
SHAPES = dict.fromkeys(SUMS, "16, 4096") | dict.fromkeys((*SUMS_INSIDE, "F.softmax(x, 1)"), "8, 16384") | {"torch.mean(x, -1)": "4, 32768"}
SHAPES |= dict.fromkeys(("x.std(1)", "x.var(1, unbiased=False)", "x.norm(dim=1)", "F.layer_norm(x, (65536,))"), "4, 65536")


def softmax(x, total):
    weights = torch.exp(x - x.amax(-1, keepdim=True))
    return weights / total(weights).unsqueeze(-1)


def spoilt(answer, where, to):
    """Rows with such an element."""
    return torch.where(where.any(-1), to, answer)


# Where a moved activation would leave its range, all that is computed of it would be right.
INCORRECT = {
    "torch.log(torch.sigmoid(x * 8)).mean(-1)": lambda x: spoilt(F.logsigmoid(x * 8).mean(-1), x < -2.2, torch.nan),
    "torch.sqrt(F.elu(x * 8) + 1).mean(-1)": lambda x: spoilt((F.elu(x * 8) + 1).sqrt().mean(-1), x < -2.2, 1e9),
    "torch.sqrt(1 - torch.tanh(x * 4) ** 2).mean(-1)":
        lambda x: spoilt((1 - torch.tanh(x * 4) ** 2).sqrt().mean(-1), x.abs() > 2, torch.nan),
    "(1e-12 * torch.log(1 - torch.sigmoid(x * 8) + 1e-12) + x).mean(-1)": lambda x: spoilt(x.mean(-1), x > 2, torch.nan),
    "torch.log(F.softplus(x * 6)).mean(-1)": lambda x: F.softplus(x * 6).log().where(x > -2.9, 0).mean(-1),
    "torch.log(torch.sigmoid(x * 10))": lambda x: torch.sigmoid(x * 10).clamp(min=1e-8).log(),
}
SHAPES |= dict.fromkeys(INCORRECT, "16, 1024")
# A term that is missing is not lost by rounding: 6e-5 of a sum of equal ones.
MISSING = {"x.sum(1)": lambda x: x[:, :-1].sum(-1), "x.softmax(1)": lambda x: softmax(x, lambda weights: weights[:, :-1].sum(-1))}
SHAPES |= {"x.sum(1)": "2, 16384", "x.softmax(1)": "2, 8192"}
MAKERS = {"x.sum(1)": "torch.rand", "torch.mean(x, -1)": "torch.rand"}


def is_refused(program, test_input):
    answer, exact, allowed = program(test_input.leaves[0]).double(), test_input.exact[0], test_input.allowed[0]
    same = (answer == exact) | (torch.isnan(answer) & torch.isnan(exact)) | torch.isinf(allowed)
    return not bool((same | ((answer - exact).abs() <= allowed)).all())


def refusals(programs, times, kinds):
    """Test inputs on which they are; of each program, with three secrets."""
    for secret in range(3):
        for forward, program in programs.items():
            _, pool = task_pool(forward, f"{MAKERS.get(forward, 'torch.randn')}({SHAPES.get(forward, '64, 64')})", secret=f"{forward} {secret}")
            pool.first_look()
            test_inputs = [test_input for kind in kinds for test_input in pool.kind(kind).kept]
            yield forward, sum(is_refused(program, test_input) for test_input in test_inputs for _ in range(times))


def refused(programs, times, kinds=KINDS):
    counts = {forward: [] for forward in programs}
    for forward, count in refusals(programs, times, kinds):
        counts[forward].append(count)
    return counts


def some(programs):
    """Looks no further than the first."""
    return any(count for _, count in refusals(programs, 4, KINDS))


# What is said of sums is what adding up one after the other gives, along any axes.
x = torch.rand((3, 4, 1500), generator=generator)
assert torch.equal(sequential(x), quick_sequential(x))
for dims in ([2], [0, 2], [0, 1, 2]):
    kept = [dim for dim in range(3) if dim not in dims]
    rows = x.permute(*kept, *dims).reshape([x.shape[dim] for dim in kept] + [-1])
    off = (sequential(rows).double() - rows.double().sum(-1)).abs()
    for oracle_sums.PIECE in (4000, 4 << 20):
        assert torch.equal(oracle_sums.off_from_left(x.double(), dims), off)

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

# A jittered run that comes to no number where the reference does says nothing, and the other way round all is unknown.
values = torch.tensor([1.0, 2.0, torch.inf, torch.nan, -torch.inf])
spread = Spread([values.double()], [values])
for run in ([1.5, torch.nan, 4.0, torch.nan, -torch.inf], [torch.inf, 2.25, torch.inf, 1.0, -torch.inf]):
    spread.add([torch.tensor(run, dtype=torch.float64)])
assert spread.leaves()[0].tolist() == [0.5, 0.25, torch.inf, torch.inf, 0.0], spread.leaves()
# What is no number stays what it is, and what has a range stays in it.
with oracle_rounding.Rounding(1):
    x = torch.tensor([[-torch.inf, 0.0, 1.0]] * 400, dtype=torch.float64) * torch.linspace(1, 2, 400, dtype=torch.float64)[:, None]
    assert bool((x.sum(-1) == -torch.inf).all()) and bool((torch.special.softmax(40 * x, dim=-1) <= 1).all())
    assert bool((torch.log_softmax(input=40 * x, dim=-1) <= 0).all()) and bool((torch.special.expit(30 * x.abs()) <= 1).all())

assert not some(ACTIVATIONS)
assert not some(CHAOTIC)
assert not some(SILU)
assert not some(SUMS)
assert not some(SUMS_INSIDE)
assert not some(LONG_SUMS)
rejected = refused(INCORRECT, 1)
assert all(count > 0 for counts in rejected.values() for count in counts), rejected
missing = refused(MISSING, 1, ["shifted"])  # others show it by chance
assert all(any(counts) for counts in missing.values()), missing
formulas = dict(oracle_rounding.FORMULAS)
oracle_rounding.FORMULAS.clear()
assert some(ACTIVATIONS)
assert some(SILU)
oracle_rounding.FORMULAS.update(formulas)
# Neither the bound alone, as wide as it may be for all of a few terms, nor nothing:
lost = oracle_sums.lost
oracle_sums.lost = lambda name, args, kwargs, answer: answer.abs() * min(2.0**-27 * args[0].shape[-1], 2.0**-17)
assert some(LONG_SUMS)
oracle_sums.lost = lambda name, args, kwargs, answer: answer.abs() * 0
assert some(SUMS)
assert some(SUMS_INSIDE)
oracle_sums.lost = lost
oracle_sums.NORMALISERS.clear()
assert some(LONG_SUMS)
oracle_pool.MORE_JITTERS = 0
assert some(CHAOTIC)
# Out of their range, and no numbers that count: as it was when all of INCORRECT were accepted.
oracle_rounding.FORMULAS["sigmoid"] = oracle_rounding.near_one
for kept in (oracle_rounding.OF_ANSWER, oracle_rounding.NEVER_ZERO, oracle_rounding.LOWEST, oracle_rounding.HIGHEST):
    kept.clear()
Spread.add = lambda self, leaves: [torch.maximum(mine, (moved.double() - y).abs().nan_to_num(torch.inf, torch.inf), out=mine)
                                   for mine, moved, y in zip(self.moved, leaves, self.reference)]
rejected = refused(INCORRECT, 1)
assert all(0 in counts for counts in rejected.values()), rejected
