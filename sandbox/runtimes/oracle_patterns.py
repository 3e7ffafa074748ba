"""Inputs of which each slice has a pattern of its own, so that one test input shows a program many kinds of values: all negative,
tiny, large, far below zero, with one element that outweighs the others, equal, halves, zero.

A slice of an input is what stands at one place of its separable axes: those along which the reference answers for each
place apart (the rows of a softmax, the channels of a batch norm, the elements of a gelu). So what the reference reduces
over is of one pattern. Which slice has which pattern is a secret of the task; values differ between test inputs.

No slice lies farther from zero than three of its own standard deviations, and none holds what the square of exp() could
not take: a variance by squares and a softmax without a maximum are right for what a task's inputs may be, if not for all
that they could be. What is equal lies on a grid on which sums of 10^5 elements and of their squares are exact in any order,
so that a mean is right to the bit and a variance zero.
"""
import math

import torch

from oracle_values import FLOAT8, like_strides, readable

LARGEST_CHANGE = 10.0  # deviations: of what is put in one place to see which answers change
MOST_SLICES = 4096
SAME = 1e-6
TILE = 16

ROUNDING_OF_USUAL = 2.0**-2  # 2^-24 as a share of a jitter, which is 2^-22
NARROW = (torch.float16, torch.bfloat16, *FLOAT8)
# What makes elements equal, so that an index of the largest is one of several.
TIES = {"equal", "halves", "zero", "near_one"}
PATTERNS = {
    "signed": ("negative", "tiny", "far", "far_below", "wide", "above", "below", "equal", "halves", "zero",
               "tiles"),
    "one_sided": ("tiny", "far", "wide", "above", "equal", "halves", "zero", "tiles"),
    "probability": ("tiny", "near_one", "equal", "halves", "zero", "tiles"),
}
# On which references are seldom finite. It costs runs to find which of them it is.
EXTREME = {"negative", "far", "far_below", "wide", "above", "below", "zero"}
LARGEST = 36.0  # exp() of twice as much is finite


def change_one_place(tensor, axis, deviation, probability, generator):
    """Two more copies of `tensor`, with large values of both signs in the middle of an axis; what is negative in one is
    positive in the other, as a maximum is moved by one of them alone."""
    place = tensor.select(axis, tensor.shape[axis] // 2)
    signs = torch.randint(0, 2, place.shape, generator=generator).to(readable(tensor).dtype)
    for side in (signs, 1 - signs):
        changed = readable(tensor).clone()
        changed.select(axis, tensor.shape[axis] // 2).copy_(
            side if probability else (2 * side - 1) * LARGEST_CHANGE * deviation)
        yield like_strides(changed, tensor)


def stays_apart(before, after, places):
    """Of answers of which one place of an input changed: does each place of `places` decide about no more than its share?
    None if it decides about nothing."""
    some = False
    for a, b in zip(before, after):
        if a.shape != b.shape:
            return False
        a, b = a.double(), b.double()
        changed = ((a - b).abs() > SAME * torch.maximum(a.abs(), b.abs())) | (a.isnan() != b.isnan())
        some |= bool(changed.any())
        if int(changed.sum()) * places > a.numel():
            return False
    return True if some else None


class Slices:
    """How one leaf of the inputs is cut. axes: the separable ones; none: it is all one slice."""

    def __init__(self, shape, axes):
        self.shape, self.axes = shape, axes
        self.order = [*axes, *(axis for axis in range(len(shape)) if axis not in axes)]
        self.rows = math.prod(shape[axis] for axis in axes)
        self.count = min(self.rows, MOST_SLICES)
        self.inner = math.prod(shape) // max(self.rows, 1)

    def cut(self, x):
        return x.permute(self.order).reshape(self.rows, self.inner)

    def joined(self, rows):
        inverse = [self.order.index(axis) for axis in range(len(self.order))]
        return rows.view([self.shape[axis] for axis in self.order]).permute(inverse)

    def spread(self, values):
        """A value for each slice, in a shape that broadcasts to the leaf's."""
        return self.spread_rows(self.of_rows(values))

    def spread_rows(self, values):
        sizes = [self.shape[axis] if axis in self.axes else 1 for axis in self.order]
        return values.view(sizes).permute([self.order.index(axis) for axis in range(len(self.order))])

    def of_rows(self, values):
        """From a value for each slice to one for each row; neighbours share a slice if there are many."""
        if self.rows == self.count:
            return values.view(-1, 1)
        return values[torch.arange(self.rows) * self.count // self.rows].view(-1, 1)


class Assignment:
    """Which slice of a leaf has which pattern."""

    def __init__(self, slices, patterns, turn, secret):
        """`turn`: where there are fewer slices than patterns, others come with the next turn."""
        self.slices, self.patterns = slices, list(patterns)
        secret.shuffle(self.patterns)
        dealt = [(i + turn * slices.count) % len(self.patterns) for i in range(slices.count)]
        secret.shuffle(dealt)
        self.dealt = torch.tensor(dealt)

    def jitter(self, deviation, hold_ties):
        """What multiplies the relative jitters of each slice, and what is added to its elements for them, as tensors that
        broadcast to the leaf's. Tiny elements are known to 2^-24 of the leaf's usual size: exp(x) - 1 loses the rest. Ties
        may stay ties."""
        relative = [0.0 if hold_ties and pattern in TIES else 1.0 for pattern in self.patterns]
        added = [ROUNDING_OF_USUAL * deviation if pattern == "tiny" else 0.0 for pattern in self.patterns]
        return [self.slices.spread(torch.tensor(x, dtype=torch.float64)[self.dealt]) for x in (relative, added)]

    def apply(self, x, nature, generator):
        table = Table(self.slices.count, nature, generator)
        for number, pattern in enumerate(self.patterns):
            getattr(table, pattern)(self.dealt == number)
        return self.slices.joined(table.apply(self.slices.cut(x), self.slices))


class Table:
    """For each slice: y = x scale + offset, of x or |x|, rounded to the grid; then mass at the ends of tiles, one element
    replaced."""

    def __init__(self, count, nature, generator):
        self.nature, self.generator, self.count = nature, generator, count
        self.scale, self.offset = torch.ones(count), torch.zeros(count)
        self.grid, self.lone = torch.zeros(count), torch.full((count,), torch.nan)
        self.tiled, self.folded = torch.zeros(count, dtype=torch.bool), torch.zeros(count, dtype=torch.bool)
        self.unit = 2.0**round(math.log2(nature.deviation)) if nature.deviation > 0 else 1.0

    def uniform(self, low, high):
        return low + (high - low) * torch.rand(self.count, generator=self.generator)

    def sign(self):
        if self.nature.one_sided:
            return torch.full((self.count,), 1.0 if self.nature.low >= 0 else -1.0)
        return 2.0 * torch.randint(0, 2, (self.count,), generator=self.generator) - 1

    def put(self, where, **values):
        for name, value in values.items():
            column = getattr(self, name)
            column[where] = value[where] if isinstance(value, torch.Tensor) else value

    def negative(self, where):
        self._fold(where, -1, 1, 0.5)

    def tiny(self, where):
        self.put(where, scale=2.0**(-6 if self.nature.narrow else -10))

    def far(self, where):
        self._fold(where, -1 if self.nature.one_sided and self.nature.high <= 0 else 1, 6, 3)

    def far_below(self, where):
        self._fold(where, -1, 12, 6)

    def _fold(self, where, sign, scale, offset):
        """On one side of zero, `offset` usual deviations away from it; nearer where that were too much for exp()."""
        most = self._most(LARGEST if sign > 0 else 2 * LARGEST)
        scale, offset = min(scale, most), min(offset, most)
        self.put(where, scale=sign * scale, offset=sign * offset * self.nature.deviation, folded=True)

    def _most(self, largest):
        """The factor that takes the task's inputs, with a deviation on top, to `largest`."""
        extent = max(abs(self.nature.low), abs(self.nature.high)) + self.nature.deviation
        return largest / extent if self._is_usual() else math.inf

    def _is_usual(self):
        return 0.05 <= self.nature.deviation <= 20

    def near_one(self, where):
        self.put(where, scale=-2.0**-6, offset=1.0 - 2.0**-10, grid=2.0**-10)  # log(1 - x) stays finite

    def wide(self, where):
        self.put(where, scale=self.uniform(3, 5).clamp(max=max(1.0, self._most(LARGEST))))

    def above(self, where):
        self.put(where, lone=self._outweighing())

    def below(self, where):
        self.put(where, lone=-self._outweighing())

    def _outweighing(self):
        sign = -1 if self.nature.one_sided and self.nature.high <= 0 else 1
        if self.nature.narrow:
            return self.uniform(16, 24) * self.nature.deviation * sign
        return self.uniform(24, LARGEST) * (1.0 if self._is_usual() else self.nature.deviation) * sign

    def equal(self, where):
        if self.nature.probability:
            value = self.uniform(0.1, 0.9)
        elif self.nature.one_sided:
            value = self.uniform(self.nature.low, self.nature.high)
        else:
            value = self.sign() * self.uniform(0.5, 3) * self.nature.deviation
        grid = self.unit / (16 if self.nature.probability else 4)
        self.put(where, scale=0.0, offset=(value / grid).round() * grid)

    def halves(self, where):
        usual = 1e-2 <= self.nature.deviation <= 1e2 and not self.nature.probability
        scale, grid = (3 / self.nature.deviation, 0.5) if usual else (1.0, self.unit / 2)
        self.put(where, scale=scale, grid=0.5 if self.nature.probability else grid)

    def zero(self, where):
        self.put(where, scale=0.0)

    def tiles(self, where):
        self.put(where, tiled=True)

    def apply(self, x, slices):
        scale, offset, grid, lone = (slices.of_rows(v).to(x.dtype) for v in (self.scale, self.offset, self.grid, self.lone))
        folded = slices.of_rows(self.folded)
        y = torch.addcmul(offset, torch.where(folded, x.abs(), x), scale)
        snapped = (grid > 0).squeeze(1).nonzero().squeeze(1)
        if snapped.numel():
            y[snapped] = torch.round(y[snapped] / grid[snapped]) * grid[snapped]
        tiled = slices.of_rows(self.tiled).squeeze(1).nonzero().squeeze(1)
        if tiled.numel():
            index = torch.arange(slices.inner)
            heavy = (index % TILE == TILE - 1) | (index == slices.inner - 1)
            large, small = (1.0, 0.05) if self.nature.probability else (3.0, 0.1)
            y[tiled] *= torch.where(heavy, large, small).to(x.dtype)
        replaced = (~torch.isnan(lone)).squeeze(1).nonzero().squeeze(1)
        if replaced.numel():
            y[replaced, torch.randint(0, slices.inner, replaced.shape, generator=self.generator)] = lone[replaced, 0]
        return y
