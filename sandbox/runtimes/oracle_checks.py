"""Faults of tasks that still have answers: their reference says too little of a program that agrees with it. Looked for
once, on the test inputs that verifications get."""
import itertools

import torch

from oracle_profile import SAMPLE, all_finite, finite, own_error, sampled
from oracle_values import readable

SATURATED = 5e-5  # V_i / S_i
NEARLY_ALL = 0.9
CHANGING_SHARE = 0.01  # of an integer leaf's elements, under jitters
FRAGILE = 0.25  # 4 e_i against the variation of a leaf
FEWEST_FINITE = 0.25  # of all elements
ZERO, ANOTHER, MEAN = CONSTANT = ("zero", "another draw's answer", "the mean of other draws")


def passes(answer, test_input, index):
    """Would this tensor be judged right as leaf `index` of the test input? Looks at some elements before all."""
    own, exact, allowed = (x[index].reshape(-1) for x in (test_input.own, test_input.exact, test_input.allowed))
    answer = answer.reshape(-1)
    return all(_right(answer[::step], own[::step], exact[::step], allowed[::step])
               for step in (max(1, own.numel() // SAMPLE), 1))


def _right(answer, own, exact, allowed):
    if not own.is_floating_point():
        return bool(((answer == own) | allowed).all())
    answer = answer.double()
    close = (answer - exact).abs() <= allowed
    return bool((close | (answer == exact) | (torch.isnan(answer) & torch.isnan(exact))).all())


def finite_share(returned):
    floats = [x for x in returned if x.is_floating_point() and x.numel()]
    if all(all_finite(x) for x in floats):
        return 1.0
    return sum(int(torch.isfinite(x).sum()) for x in floats) / sum(x.numel() for x in floats)


def changing_share(spread_leaves):
    """Largest share of an integer leaf that jitters change."""
    return max((float(x.float().mean()) for x in spread_leaves if x.dtype == torch.bool and x.numel()), default=0.0)


def saturated(kind):
    """Nearly all elements of all floating-point leaves hardly vary between test inputs. (Not half of them: where answers are
    zeros and ones, four test inputs often agree.)"""
    floats = [s for s in kind.statistics if s is not None and s.first.numel()]
    return bool(floats) and all(
        float((sampled(s.deviation) < SATURATED * sampled(s.rms)).float().mean()) > NEARLY_ALL for s in floats)


def fragile(kind):
    """Most of what every leaf of every test input says is not determined well enough to tell right from wrong."""
    def leaf_is_fragile(test_input, index):
        if not test_input.own[index].is_floating_point():
            return changing_share([test_input.spread[index]]) > CHANGING_SHARE
        statistics, exact = test_input.statistics[index], test_input.exact[index]
        e = torch.maximum(statistics.error, own_error(test_input.own[index], exact)) + test_input.spread[index]
        size = finite(exact.abs())
        variation = statistics.deviation.square().mean().sqrt()
        return 0 < variation and float(size[4 * e > FRAGILE * variation].sum()) > 0.5 * float(size.sum()) > 0

    filled = [(test_input, index) for test_input in kind.kept for index, own in enumerate(test_input.own) if own.numel()]
    return bool(filled) and all(leaf_is_fragile(test_input, index) for test_input, index in filled)


def trivial_answers(kind):
    """For each leaf the names of answers without any computing that are right on every test input of this kind."""
    return [set.intersection(*({name for name, answer in _trivial(kind, test_input, index) if passes(answer, test_input, index)}
                               for test_input in kind.kept)) for index in range(len(kind.kept[0].own))]


def _trivial(kind, test_input, index):
    own, statistics = test_input.own[index], test_input.statistics[index]
    yield ZERO, torch.zeros_like(own)
    other = kind.last if kind.last.sample is not test_input.sample else kind.kept[0]
    if other.sample is not test_input.sample:
        yield ANOTHER, other.exact[index].to(own.dtype)
        if statistics is not None:
            n = statistics.count
            yield MEAN, (n * statistics.mean() - test_input.exact[index]) / (n - 1)
    for position, leaf in enumerate(map(readable, test_input.leaves)):
        if leaf.numel() == own.numel():
            yield f"input {position}", leaf.reshape(own.shape).to(own.dtype)
        elif 0 < leaf.numel() < own.numel():
            for axes, spread in _broadcasts(leaf.squeeze(), own.shape):
                yield f"input {position} broadcast along axes {axes}", spread.to(own.dtype)


def _broadcasts(leaf, shape):
    """A leaf without axes of one element on each choice of the shape's axes, in their order, that are as long as its own."""
    for own in itertools.combinations(range(len(shape)), leaf.dim()):
        if all(shape[axis] == size for axis, size in zip(own, leaf.shape)):
            placed = leaf.reshape([size if axis in own else 1 for axis, size in enumerate(shape)])
            yield [axis for axis in range(len(shape)) if axis not in own], placed.broadcast_to(shape)


def _repeated_inputs(test_input, index):
    """Positions of the inputs that this leaf equals exactly."""
    own = test_input.own[index]
    return {position for position, leaf in enumerate(test_input.leaves) if leaf.dtype == test_input.types[index]
            and leaf.numel() == own.numel() and torch.equal(readable(leaf).reshape(own.shape), own)}


class Findings:
    """What the kinds show, one after the other, so that no more than one kind's test inputs need memory."""

    def __init__(self):
        self.first = None  # output leaves of the first test input
        self.saturated = False
        self.finite = 0.0
        self.fragile = []
        self.trivial = []
        self.constant, self.repeated = [], []
        self.depends = set()
        self.given = set()  # inputs that are the same on all test inputs
        self.inputs = 0

    def add(self, kind, depends):
        """`depends(kind, position)`: does the answer change with the input leaf at this position? None: the leaf does not."""
        test_inputs = kind.kept
        if self.first is None:
            self.saturated = saturated(kind)
            self.first = test_inputs[0].own
            self.constant = [True] * len(self.first)
            self.repeated = [_repeated_inputs(test_inputs[0], index) for index in range(len(self.first))]
            self.inputs = len(test_inputs[0].leaves)
            self.given = set(range(self.inputs))
        self.finite = max(self.finite, *(test_input.sample.finite for test_input in test_inputs))
        self.fragile.append(fragile(kind))
        self.trivial.append(trivial_answers(kind))
        for index, first in enumerate(self.first):
            self.constant[index] &= all(torch.equal(test_input.own[index], first) for test_input in test_inputs)
            for test_input in test_inputs:
                self.repeated[index] &= _repeated_inputs(test_input, index)
        for position in set(range(self.inputs)) - self.depends:
            changes = depends(kind, position)
            if changes:
                self.depends.add(position)
            if changes is not None:  # two sparse test inputs of a few elements may both be zero
                self.given.discard(position)

    def without_computing(self):
        """For each output leaf: is it the same on all test inputs, or always one of the inputs?"""
        return [constant or bool(inputs) for constant, inputs in zip(self.constant, self.repeated)]

    def passes(self, pool):
        """What is right for every output leaf on every test input though nothing is computed; empty if nothing is. A task where
        something is says nothing of a program. (What has no elements is right without computing for everybody.)"""
        if self.is_empty():
            return ""
        common = [set.intersection(*names) for names in zip(*self.trivial)]
        constant = [index for index, names in enumerate(common) if names <= set(CONSTANT)]
        if not all(common) or pool.is_chance(constant):
            return ""
        return ", ".join(sorted({min(names) for names in common}))

    def is_empty(self):
        return not any(x.numel() for x in self.first)

    def faults(self):
        """Of a task that says something of programs all the same."""
        found = []

        def fault(kind, message):
            found.append({"kind": kind, "message": message})

        if self.is_empty():
            return [{"kind": "empty", "message": "its answer has no elements: every program that returns its shape is correct"}]
        if self.saturated:
            fault("saturated", f"nearly all of its answer varies by less than {SATURATED} of its size from draw to draw")
        if all(self.fragile):
            fault("fragile", "its answer changes too much under the rounding of its inputs on every draw")
        blind = [str(position) for position in range(self.inputs)
                 if position not in self.depends and position not in self.given]
        if blind:
            fault("blind", f"its answer does not depend on input {', '.join(blind)}")
        return found
