"""How structured test inputs cut inputs and deal patterns, and which decisions of a reference are exact: patterns_check.py FOLDER OF
THE RUNTIMES."""
import torch
from task_pool import task_pool

from oracle_checks import Findings
from oracle_test_inputs import KINDS
from oracle_patterns import Slices
from oracle_places import Places
from oracle_unread import decides
from oracle_values import raw


def pool_of(forward, inputs, arguments="x", secret="secret", init="pass"):
    _, pool = task_pool(forward, inputs, arguments, secret, init)
    pool.first_look()
    return pool, {name: pool.kind(name) for name in KINDS}


def axes(forward, inputs, arguments="x", init="pass"):
    pool, _ = pool_of(forward, inputs, arguments, init=init)
    return [pool.separable_axes(position) for position in range(len(pool.test_inputs.natures))]


# The axes along which answers come for each place apart.
assert axes("torch.softmax(x, 1)", "torch.randn(20, 30)") == [[0]]
assert axes("torch.softmax(x, 0)", "torch.randn(20, 30)") == [[1]]
assert axes("torch.tanh(x)", "torch.randn(20, 30)") == [[0, 1]]
assert axes("F.instance_norm(x)", "torch.randn(4, 6, 5, 5)") == [[0, 1]]
assert axes("F.batch_norm(x, None, None, training=True)", "torch.randn(4, 6, 5, 5)") == [[1]]
assert axes("x @ y", "torch.randn(8, 12), torch.randn(12, 9)", "x, y") == [[0], [1]]
assert axes("F.max_pool2d(x, 3)", "torch.randn(2, 3, 9, 9)") == [[0, 1]]
assert axes("x.cumsum(1)", "torch.randn(6, 9)") == [[0]]
assert axes("F.mse_loss(x, y)", "torch.randn(6, 9), torch.randn(6, 9)", "x, y") == [[], []]

# Every pattern has a slice, in each turn or over two of them.
pool, _ = pool_of("torch.softmax(x, 1)", "torch.randn(22, 30)")
assert pool.turns == 1
assert sorted(pool.test_inputs.assignments[0][0].dealt.tolist()) == sorted(list(range(11)) * 2)
pool, kinds = pool_of("torch.softmax(x, 1)", "torch.randn(6, 30)")
assert pool.turns == 2 and len(kinds["structured"].turns) == 2
shown = [{dealt.patterns[i] for i in dealt.dealt.tolist()} for dealt in pool.test_inputs.assignments[0]]
assert len(shown[0] | shown[1]) == 11

# Patterns on which the reference is not finite are not dealt, the others are.
pool, kinds = pool_of("torch.exp(3 * x)", "torch.randn(40, 30)")
dealt = set(pool.test_inputs.assignments[0][0].patterns)
assert "above" not in dealt and {"negative", "below", "tiny", "zero", "equal"} <= dealt, dealt
assert all(torch.isfinite(test_input.own[0]).all() for test_input in kinds["structured"].kept)
dealt = set(pool_of("torch.log(x.abs())", "torch.randn(40, 30)")[0].test_inputs.assignments[0][0].patterns)
assert "zero" not in dealt and {"above", "far", "negative"} <= dealt, dealt


def decided(forward, inputs="torch.randn(48, 30)", init="pass"):
    """How many elements of the structured test inputs may differ, and whether equal elements are drawn."""
    pool, kinds = pool_of(forward, inputs, init=init)
    test_inputs = kinds["structured"].kept
    integers = [i for i, y in enumerate(test_inputs[0].own) if not y.is_floating_point()]
    free = sum(int(test_input.allowed[i].sum()) for test_input in test_inputs for i in integers)
    return free, "equal" in pool.test_inputs.assignments[0][0].patterns


# What is decided about inputs as they are is exact, ties included.
assert decided("x.argmax(1)") == (0, True)
assert decided("x.max(1)") == (0, True)
assert decided("x > 0.5") == (0, True)
assert decided("torch.bucketize(x, self.e)", init="self.register_buffer('e', torch.tensor([-1.0, 0.5, 2.0]))") == (0, True)
# What is decided about results of arithmetic, or said nowhere, gets no ties.
assert not decided("(x * x).argmax(1)")[1]
assert not decided("x.sort(1)")[1]
assert not decided("x.topk(3)")[1]
# Halves are rounded as the reference does it.
pool, kinds = pool_of("torch.round(x)", "torch.randn(48, 30)")
halves = [(test_input.leaves[0] % 1 == 0.5) & (test_input.leaves[0].abs() < 20) for test_input in kinds["structured"].kept]
assert sum(int(h.sum()) for h in halves) > 50
assert all(float(test_input.allowed[0][h].max()) < 0.5 for test_input, h in zip(kinds["structured"].kept, halves))

# What is lost where something tiny stands beside one is nobody's fault, whatever is made of it afterwards.
_, kinds = pool_of("F.elu(x).abs().sqrt()", "torch.randn(48, 30)")
for test_input in kinds["structured"].kept:
    x = test_input.leaves[0]
    answer = torch.where(x > 0, x, torch.exp(x) - 1).abs().sqrt().double()
    assert bool(((answer - test_input.exact[0]).abs() <= test_input.allowed[0]).all())

# What is close to one stays below it.
for number in range(10):
    _, kinds = pool_of("torch.log(1 - x)", "torch.rand(64) * 0.5", secret=f"secret {number}")
    assert all(torch.isfinite(test_input.own[0]).all() for kind in kinds.values() for test_input in kind.kept), number

# An input of two elements is often all zero on sparse test inputs; that says nothing of whether the answer depends on it.
for number in range(10):
    pool, kinds = pool_of("torch.exp(x)", "torch.randn(9, 9), torch.randn(2)", "x, y", secret=f"secret {number}")
    findings = Findings()
    for kind in kinds.values():
        findings.add(kind, pool.depends)
    assert [fault["kind"] for fault in findings.faults()] == ["blind"], number

# Answers whose squares overflow have allowances all the same.
_, kinds = pool_of("x * 1e22", "torch.randn(40, 30)")
assert all(torch.isfinite(test_input.allowed[0]).all() for kind in kinds.values() for test_input in kind.kept)

# Sixteen bits have patterns as well.
dealt = set(pool_of("x + 1", "torch.randn(40, 30).half()")[0].test_inputs.assignments[0][0].patterns)
assert {"far", "far_below", "negative"} <= dealt


def rows_of(inputs):
    """Rows of structured test inputs, of all patterns but those that replace an element or put mass at the ends of tiles."""
    pool, kinds = pool_of("torch.softmax(x, 1)", inputs)
    uneven = ("above", "below", "tiles")
    for test_input in kinds["structured"].kept:
        for row, number in zip(test_input.leaves[0], pool.test_inputs.assignments[0][0].dealt.tolist()):
            if pool.test_inputs.assignments[0][0].patterns[number] not in uneven:
                yield row.double()


# No row is farther from zero than three of its deviations, or holds what exp() cannot take.
for inputs in ("torch.randn(44, 256)", "torch.rand(44, 256) * 2 - 1", "5 * torch.randn(44, 256)"):
    for row in rows_of(inputs):
        assert row.std() < 1e-6 or row.mean().abs() < 3.3 * row.std(), (inputs, row.mean(), row.std())
        assert row.max() < 44 and row.min() > -88, (inputs, row.max(), row.min())


def places_of(forward, inputs, kind, find=torch.argmax):
    """Where the extremes of the rows stand in the test inputs of a kind."""
    _, kinds = pool_of(forward, inputs)
    return torch.stack([find(test_input.leaves[0], 1) for test_input in kinds[kind].kept]), kinds


# The extremes of few long slices are at the ends and elsewhere, whatever the reference is.
for forward in ("x.max(1).values", "torch.softmax(x, 1)", "x.amax(1)"):
    for kind in ("shifted", "sparse"):
        for find in (torch.argmax, torch.argmin):
            found, kinds = places_of(forward, "torch.randn(4, 2000)", kind, find)
            for of_input in found:
                near = (of_input >= 2000 - 33) & (of_input < 1999)
                assert int((of_input == 1999).sum()) >= 1 and int(near.sum()) >= 1 and int((of_input == 0).sum()) >= 1, of_input
# What is last of everything: the largest on one kind, the smallest on the other.
assert bool((places_of("x.amax(1)", "torch.randn(5, 2000)", "shifted")[0][:, -1] == 1999).all())
assert bool((places_of("x.amax(1)", "torch.randn(5, 2000)", "sparse", torch.argmin)[0][:, -1] == 1999).all())
assert bool((places_of("x.amax()", "torch.randn(1, 4000)", "shifted")[0] == 3999).all())
assert bool((places_of("x.amin()", "torch.randn(1, 4000)", "sparse", torch.argmin)[0] == 3999).all())

# A program that leaves out the tail is noticed on every test input of either kind.
_, kinds = pool_of("x.amax(1)", "torch.randn(4, 8192)")
for kind in ("shifted", "sparse"):
    for test_input in kinds[kind].kept:
        for tail in (1, 32):
            beyond = (test_input.leaves[0][:, :-tail].amax(1).double() - test_input.exact[0]).abs() > test_input.allowed[0]
            assert bool(beyond.any()), (kind, tail)

# Elements stay what they are; what is sorted, masked or of whole numbers stays where it is.
torch.manual_seed(3)
moved, twins = Places(Slices((5, 700), [0])).apply(torch.arange(3500.0).view(5, 700), torch.Generator(), False, False)
assert twins is None and torch.equal(moved.sort(1).values, torch.arange(3500.0).view(5, 700))
for inputs in ("torch.randn(4, 900).sort(1).values", "torch.randn(60, 60).tril()", "torch.randint(0, 9, (4, 900)).float()",
               "torch.softmax(torch.randn(4, 900), 1)"):
    pool, _ = pool_of("x * 2", inputs)
    assert pool.test_inputs.places == [None], inputs
assert pool_of("x * 2", "torch.randn(60, 60)")[0].test_inputs.places == [None]  # each element is a slice

# Where indices are exact, extremes come again further on, and in a lower lane and thread; jitters leave them equal.
for forward, sign in (("x.argmax(1)", 1), ("x.argmin(1)", -1), ("x.max(1)", 1)):
    _, kinds = pool_of(forward, "torch.randn(16, 4096)")
    for kind in ("shifted", "sparse"):
        for test_input in kinds[kind].kept:
            x = test_input.leaves[0] * sign
            equal = x == x.amax(1, keepdim=True)
            first, places = x.argmax(1, keepdim=True), torch.arange(4096)
            for group in (32, 256):
                lower = (equal & (places > first) & (places % group < first % group)).any(1)
                assert int(lower.sum()) >= 4, (forward, kind, int(lower.sum()))
            integers = [mask for mask, y in zip(test_input.allowed, test_input.own) if not y.is_floating_point()]
            assert not any(bool(mask.any()) for mask in integers)
# What is decided about results of arithmetic gets none.
_, kinds = pool_of("(x * x).argmax(1)", "torch.randn(16, 4096)")
assert all(int((d.leaves[0] == d.leaves[0].amax(1, keepdim=True)).sum()) == 16 for d in kinds["shifted"].kept)

# What can only be taken as it is given is looked at before it is known what the reference decides.
pool, kinds = pool_of("(x * 2 if bool(x[0] == 64) else None[0])", "torch.arange(64.0, 0.0, -1.0)")
assert pool.test_inputs.natures[0].method is None
assert all(float(test_input.leaves[0][0]) == 64 for kind in kinds.values() for test_input in kind.kept)

# What is not read decides in a search or a sum, behind a gate that lets through, and not where the reference does not look or
# was never in doubt. Inputs of few long slices are watched.
def long_inputs(forward, inputs, arguments="x"):
    return pool_of(forward, inputs, arguments)[0].long_inputs()


assert long_inputs("x.max()", "torch.randn(20000)") == [True]
assert long_inputs("F.mse_loss(x, y)", "torch.randn(60, 90), torch.randn(60, 90)", "x, y") == [True, True]
assert long_inputs("x.sum(1)", "torch.randn(40, 4000)") == [False]  # enough slices
assert long_inputs("x.sum(1)", "torch.randn(40, 9000)") == [True]  # of so many places one hardly shows, in however many slices
assert long_inputs("x.sum(1)", "torch.randn(4, 100)") == [False]
assert long_inputs("x.sum()", "torch.randint(0, 9, (20000,))") == [False]
assert long_inputs("x.sum()", "torch.randn(20000).sort().values") == [False]


def decided(forward, inputs, *unread, arguments="x"):
    pool, kinds = pool_of(forward, inputs, arguments)
    return [decides(pool.reference, [raw(x) for x in (*test_input.leaves, *test_input.allowed)], unread)
            for kind in kinds.values() for test_input in kind.kept]


for forward in ("x.max()", "x.min()", "x.sum()", "(x * x).mean()"):
    assert all(decided(forward, "torch.randn(20000)", (0, 40000, 50000))), forward
found = decided("x.argmax()", "torch.randn(20000)", (0, 40000, 50000))
assert all(found[:6]), found  # of a structured test input an index may be any
assert all(decided("x.max()", "torch.randn(20000)", *((0, at, at + 4) for at in range(0, 80000, 80))))  # every twentieth
assert all(decided("x.max()", "torch.randn(20000)", (0, 44444, 44448)))
assert not any(decided("x.max()", "torch.randn(20000)", (0, 44441, 44447)))  # no element as a whole
assert all(decided("x.amax()", "torch.rand(20000) * 0.5", (0, 40000, 50000))[:2])  # others may be full of ones
assert not any(decided("x[:10000].sum()", "torch.randn(20000)", (0, 40000, 80000)))
assert all(decided("x[:10000].sum()", "torch.randn(20000)", (0, 39000, 40000)))
assert all(decided("x.t().amax(1)", "torch.randn(900, 3).t().contiguous().t()", (0, 40, 44)))
closed = "torch.cat([torch.ones(10000), -torch.ones(10000)]) * (1 + torch.rand(20000)), torch.randn(20000)"
# One term among many, of which nothing is left to see in float32; and what is skipped because it is nothing to the sum.
assert all(decided("x.mean(1)", "torch.rand(20, 65536)", (0, 262140, 262144))[:6])
assert not any(decided("x[:10000].sum() + 1e-12 * x[10000:].sum()", "torch.randn(20000)", (0, 40000, 80000)))
gate = "torch.where(g > 0, x, 0.0).sum()"
assert not any(decided(gate, closed, (1, 40000, 80000), arguments="g, x")[:2])  # plain test inputs
assert all(decided(gate, closed, (1, 30000, 40000), arguments="g, x")[:2])

# What a leaf cannot be, negative here, is no reason to grade where the reference comes to no number.
for secret in range(3):
    pool, kinds = pool_of("x.prod(1)", "torch.rand(4, 32768) * 0.02 + 0.99", secret=f"products {secret}")
    assert all(bool(test_input.own[0].isfinite().all()) for test_input in kinds["structured"].kept)
