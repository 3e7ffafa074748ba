"""Faults of tasks that still have answers: their reference says too little of a program that agrees with it. Looked for
once, on the draws that verifications get."""
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


def passes(answer, draw, index):
    """Would this tensor be judged right as leaf `index` of the draw? Looks at some elements before all."""
    own, exact, allowed = (x[index].reshape(-1) for x in (draw.own, draw.exact, draw.allowed))
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
    """Nearly all elements of all floating-point leaves hardly vary from draw to draw. (Not half of them: where answers are
    zeros and ones, four draws often agree.)"""
    floats = [s for s in kind.statistics if s is not None and s.first.numel()]
    return bool(floats) and all(
        float((sampled(s.deviation) < SATURATED * sampled(s.rms)).float().mean()) > NEARLY_ALL for s in floats)


def fragile(kind):
    """Most of what every leaf of every draw says is not determined well enough to tell right from wrong."""
    def leaf_is_fragile(draw, index):
        if not draw.own[index].is_floating_point():
            return changing_share([draw.spread[index]]) > CHANGING_SHARE
        statistics, exact = draw.statistics[index], draw.exact[index]
        e = torch.maximum(statistics.error, own_error(draw.own[index], exact)) + draw.spread[index]
        size = finite(exact.abs())
        variation = statistics.deviation.square().mean().sqrt()
        return 0 < variation and float(size[4 * e > FRAGILE * variation].sum()) > 0.5 * float(size.sum()) > 0

    filled = [(draw, index) for draw in kind.kept for index in range(len(draw.own)) if draw.own[index].numel()]
    return bool(filled) and all(leaf_is_fragile(draw, index) for draw, index in filled)


def trivial_answers(kind):
    """For each leaf the names of answers without any computing that are right on every draw of this kind."""
    return [set.intersection(*({name for name, answer in _trivial(kind, draw, index) if passes(answer, draw, index)}
                               for draw in kind.kept)) for index in range(len(kind.kept[0].own))]


def _trivial(kind, draw, index):
    own, statistics = draw.own[index], draw.statistics[index]
    yield ZERO, torch.zeros_like(own)
    other = kind.last if kind.last.sample is not draw.sample else kind.kept[0]
    if other.sample is not draw.sample:
        yield ANOTHER, other.exact[index].to(own.dtype)
        if statistics is not None:
            n = statistics.draws
            yield MEAN, (n * statistics.mean() - draw.exact[index]) / (n - 1)
    for position, leaf in enumerate(map(readable, draw.leaves)):
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


def _repeated_inputs(draw, index):
    """Positions of the inputs that this leaf equals exactly."""
    own = draw.own[index]
    return {position for position, leaf in enumerate(draw.leaves) if leaf.dtype == draw.types[index]
            and leaf.numel() == own.numel() and torch.equal(readable(leaf).reshape(own.shape), own)}


class Findings:
    """What the kinds show, one after the other, so that no more than one kind's draws need memory."""

    def __init__(self):
        self.first = None  # output leaves of the first draw
        self.saturated = False
        self.finite = 0.0
        self.fragile = []
        self.trivial = []
        self.constant, self.repeated = [], []
        self.depends = set()
        self.given = set()  # inputs that are the same on all draws
        self.inputs = 0

    def add(self, kind, depends):
        """`depends(kind, position)`: does the answer change with the input leaf at this position? None: the leaf does not."""
        draws = kind.kept
        if self.first is None:
            self.saturated = saturated(kind)
            self.first = draws[0].own
            self.constant = [True] * len(self.first)
            self.repeated = [_repeated_inputs(draws[0], index) for index in range(len(self.first))]
            self.inputs = len(draws[0].leaves)
            self.given = set(range(self.inputs))
        self.finite = max(self.finite, *(draw.sample.finite for draw in draws))
        self.fragile.append(fragile(kind))
        self.trivial.append(trivial_answers(kind))
        for index, first in enumerate(self.first):
            self.constant[index] &= all(torch.equal(draw.own[index], first) for draw in draws)
            for draw in draws:
                self.repeated[index] &= _repeated_inputs(draw, index)
        for position in set(range(self.inputs)) - self.depends:
            changes = depends(kind, position)
            if changes:
                self.depends.add(position)
            if changes is not None:  # two sparse draws of a few elements may both be zero
                self.given.discard(position)

    def without_computing(self):
        """For each output leaf: is it the same on all draws, or always one of the inputs?"""
        return [constant or bool(inputs) for constant, inputs in zip(self.constant, self.repeated)]

    def passes(self, pool):
        """What is right for every output leaf on every draw though nothing is computed; empty if nothing is. A task where
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
