"""Inputs that get_inputs() gives alike under every seed: literals, ranges, tables. Their values stand in the task's text, and an
answer that was worked out from them beforehand would be right. So floats are drawn as well, within what they are:
between the least and the greatest of them (of one value: around it), in their order, what is not finite in other places
and numbers. Which of that the reference takes is for the pool to find out.

Integers stay as they are given: they are offsets, indices, sorted keys, and what must hold between them, or between them and
another input's shape, is said nowhere. Only where the task would say nothing of a program so, as its answer is the same on
every test input, are they drawn: among those in their range, in order or distinct where they are so.
"""
import math

import torch

from oracle_checks import finite_share
from oracle_values import InvalidTask, leaves, like_strides, readable, readable_leaves

LARGEST_BESIDE_INFINITY = 1e12
FEW = 64
# What fails more seldom is met later, and then drawn by its next method.
ANSWERED_SAMPLES = 3  # before inputs are taken to be drawn so
MOST_CHOICES = 16  # one after the other; a task of many tables must not take longer than its test inputs


def choose_methods(natures, answered):
    """Finds for each literal the strictest method of drawing it on which the reference still answers. answered(variant) is a
    Sample, or raises InvalidTask."""
    literals = [nature for nature in natures if nature.literal and nature.literal.methods]
    if not literals:
        return
    try:
        given = answered("as_given")
    except InvalidTask:
        return  # its verdict comes soon
    for nature in literals:
        nature.method = nature.literal.methods[0]
    if _answers_like(given, answered):
        return
    for nature in literals:
        nature.method = None
    choices = 0
    for nature in literals:
        for nature.method in (*nature.literal.methods, None):
            choices += 1
            if choices > MOST_CHOICES:
                nature.method = None
            if nature.method is None or _answers_like(given, answered):
                break


def demote(natures):
    """What was drawn so is drawn by its next method, or is as it is given. False if nothing was drawn."""
    sampled = [nature for nature in natures if nature.method]
    for nature in sampled:
        methods = nature.literal.methods
        del methods[:methods.index(nature.method) + 1]
        nature.method = None  # until choose_methods() has looked at what is left, which may be nothing
    return bool(sampled)


def _answers_like(given, answered):
    """Does the reference take inputs as they are drawn, with an answer of the same shape, and as finite unless the inputs
    are not?"""
    try:
        for _ in range(ANSWERED_SAMPLES):
            sample = answered("plain")
            if [x.shape for x in sample.own] != [x.shape for x in given.own] or (
                    sample.finite < given.finite and finite_share(readable_leaves(sample.inputs)) == 1):
                return False
    except InvalidTask:
        return False
    return True


class Order:
    """In which elements stand along an axis of each of `tensors`, which are of one shape; false if there is none."""

    def __init__(self, *tensors, fewest=3):
        """fewest: elements of which it says something that they are in order."""
        self.axis, self.descending = None, False
        x = tensors[0]
        for axis in reversed(range(x.dim() if x.dtype != torch.bool else 0)):
            for descending in (False, True):
                if self.axis is None and x.shape[axis] >= fewest and all(
                        _is_in_order(y, axis, descending) for y in tensors):
                    self.axis, self.descending = axis, descending

    def __bool__(self):
        return self.axis is not None

    def of(self, x):
        return x.sort(self.axis, descending=self.descending).values if self else x


def _is_in_order(x, axis, descending):
    steps = x.diff(dim=axis)
    return bool((steps <= 0 if descending else steps >= 0).all())


def is_symmetric(x):
    """A square matrix, or each of several."""
    return x.dim() > 1 and x.shape[-1] == x.shape[-2] > 1 and bool((x == x.mT).all())


def symmetric(x):
    return torch.triu(x) + torch.triu(x, 1).mT


def _overlaps(x):
    reach = 0
    for stride, size in sorted((stride, size) for stride, size in zip(x.stride(), x.shape) if size > 1):
        if stride <= reach:
            return True
        reach += stride * (size - 1)
    return False


def _distinct_axis(x):
    """One along which no element comes twice; None if there is none."""
    for axis in (x.dim() - 1, 0) if x.dim() > 1 else ():
        if x.shape[axis] > 1 and bool((x.sort(axis).values.diff(dim=axis) != 0).all()):
            return axis
    return None


class Literal:
    """How one such leaf is drawn. methods: give a tensor of its shape, strictest first; none where it has no
    other value than it has."""

    def __init__(self, tensor):
        # Of what is expanded, each element once.
        self.shape = tensor.shape
        once = tensor.detach()[tuple(slice(0, 1) if stride == 0 else slice(None) for stride in tensor.stride())]
        self.layout = once
        self.given = readable(once).clone(memory_format=torch.contiguous_format)
        self.values = self.given.reshape(-1)
        self.order = Order(self.given, fewest=2)
        self.methods, self.held_methods = [], []
        if tensor.numel() == 0 or tensor.is_complex() or _overlaps(once):
            return
        if tensor.is_floating_point():
            self._look_at_floats()
        elif len(self.values.unique()) > 1:
            if tensor.dtype != torch.bool:
                self._look_at_integers()
            else:
                self.methods.append(self._shuffled)

    def _look_at_floats(self):
        x = self.values.double()
        finite = x[torch.isfinite(x)]
        self.low, self.high = (float(finite.min()), float(finite.max())) if finite.numel() else (0.0, 0.0)
        self.special = x[~torch.isfinite(x)]
        binary = bool(((finite == 0) | (finite.abs() == 1)).all())
        several = len(x.nan_to_num(math.pi).unique()) > 1
        if self.special.numel() and several:
            self.methods.append(self._with_special)
        elif several and not binary:
            self.methods.append(self._between)
        elif x.numel() == 1 and finite.numel() == 1 and self.low != 0:
            self.methods.append(self._scaled)
        elif x.numel() > 1 and finite.numel() == x.numel() and not several:
            self.methods.append(self._around)
        if several and not self.order:
            self.methods.append(self._shuffled)

    def sampled(self, method, generator):
        return like_strides(method(generator), self.layout).expand(self.shape)

    def _look_at_integers(self):
        self.low, self.high = int(self.values.min()), int(self.values.max())
        self.distinct = len(self.values.unique()) == self.values.numel()
        self.distinct_axis = _distinct_axis(self.given)
        # Of a range without gaps there is no other in order; as indices it may stand in any.
        if not (self.distinct and self.order and self.high - self.low + 1 == self.values.numel()):
            self.held_methods.append(self._among_integers)
        self.held_methods.append(self._shuffled)

    def release(self):
        """Has integers drawn from here on; false if they are already, or there are none."""
        if not self.held_methods:
            return False
        self.methods, self.held_methods = self.held_methods, []
        return True

    def _formed(self, values):
        """In the given shape, order, symmetry and scale."""
        found = self.order.of(values.reshape(self.given.shape).to(self.given.dtype))
        if found.is_floating_point() and found.dim() > 1:
            # A structure, not a number by chance.
            found = torch.where(self.given == 0, self.given, found)
            if is_symmetric(self.given):
                found = symmetric(found)
        if found.is_floating_point() and found.dim() and self.low >= 0 and torch.allclose(
                self.given.sum(-1), torch.ones((), dtype=found.dtype), atol=1e-4):
            found = found / found.sum(-1, keepdim=True)
        return found

    def _shuffled(self, generator):
        """Within rows where these hold as many ones each: targets, or members."""
        x = self.given
        if x.dim() > 1 and bool(((x == 0) | (x == 1)).all()) and len(x.double().sum(-1).unique()) == 1:
            return x.gather(-1, torch.rand(x.shape, generator=generator).argsort(-1))
        order = torch.randperm(self.values.numel(), generator=generator)
        return self.values[order].view(self.given.shape)

    def _between(self, generator):
        """Half of them are among those given: the reference may mean 0 or 1 by them."""
        count = self.values.numel()
        sampled = self.low + (self.high - self.low) * torch.rand(count, generator=generator, dtype=torch.float64)
        given = self.values.double()[torch.randint(0, count, (count,), generator=generator)]
        return self._formed(torch.where(torch.rand(count, generator=generator) < 0.5, given, sampled))

    def _scaled(self, generator):
        return self.given * float(0.5 + torch.rand((), generator=generator))

    def _around(self, generator):
        """Of one value, which may be meant as a weight or a state to begin with."""
        sampled = torch.rand(self.given.shape, generator=generator, dtype=torch.float64)
        return (0.1 * sampled if self.low == 0 else self.low * (0.5 + sampled)).to(self.given.dtype)

    def _with_special(self, generator):
        """Each element is special with the share that they have; where there are infinities, what is finite may be large.
        One element at least is special, and another is not and is large where any may be: chance alone would now and then give a
        verification none."""
        count = self.values.numel()
        order = torch.randperm(count, generator=generator)
        sampled = self.low + (self.high - self.low) * torch.rand(count, generator=generator, dtype=torch.float64)
        if bool(torch.isinf(self.special).any()):
            size = torch.rand(count, generator=generator, dtype=torch.float64)
            is_large = torch.rand(count, generator=generator) < 0.5
            size[order[1:2]], is_large[order[1:2]] = (1 + size[order[1:2]]) / 2, True
            large = 10.0 ** (math.log10(LARGEST_BESIDE_INFINITY) * size)
            large *= torch.randint(0, 2, (count,), generator=generator) * 2 - 1
            sampled = torch.where(is_large, large, sampled)
        share = min(max(self.special.numel() / count, 1 / 8), 7 / 8)
        special = torch.rand(count, generator=generator) < share
        special[order[1:2]], special[order[0]] = False, True
        kinds = self.special[torch.randint(0, self.special.numel(), (count,), generator=generator)]
        return torch.where(special, kinds, sampled).view(self.given.shape).to(self.given.dtype)

    def _among_integers(self, generator):
        count, width = self.values.numel(), self.high - self.low + 1
        if self.distinct and width <= FEW * count:
            sampled = self.low + torch.randperm(width, generator=generator)[:count]
        elif self.distinct_axis is not None and width <= FEW * self.given.shape[self.distinct_axis]:
            rows = self.given.movedim(self.distinct_axis, -1)
            order = torch.rand(*rows.shape[:-1], width, generator=generator).argsort(-1)[..., :rows.shape[-1]]
            sampled = self.low + order.movedim(-1, self.distinct_axis)
        else:
            sampled = torch.randint(self.low, self.high + 1, (count,), generator=generator)
        return self._formed(sampled)
