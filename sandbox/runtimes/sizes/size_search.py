"""Finds smaller sizes of a task: values of its constants at which inputs, answer and work are a program's for a test, and
at which what size hides shows: remainders of the tiles that kernels use, and two tiles at least.

Constants are scaled alone or, where the reference only runs then, together with those of equal value (size_variants.py also
asks for all of them together) or with one that is a small multiple. Batches go first (no parameter's shape depends on
them), then other axes, then features. A value is a multiple of what it has to be a multiple of (groups, heads), and of no
more.
"""
import math
from itertools import islice

from size_constants import SMALL, find_constants, small_numbers, with_values
from size_probe import probe

# Of a variant: elements of inputs, parameters and answer, and lane operations of an ordinary program. The first pair that a
# variant is within. In the further ones elements are counted without those parameters that stay at the smallest sizes: a
# network's channels are its function, and its parameters may be millions. Ten times the last would take a verification of
# several variants longer than a client waits.
LIMITS = ((300_000, 60_000_000), (1_000_000, 600_000_000), (3_000_000, 600_000_000))
BATCH, AXIS, FEATURE = "batch", "axis", "feature"
# One after the other until a task is small enough: which constants, and to what they may go. Above two tiles of 4096, of
# 512, 128, 64, 32 and 16 elements; last, what fits.
PHASES = ((BATCH, 37), (AXIS, 8500), (BATCH, 17), (AXIS, 1100), (AXIS, 270), (FEATURE, 140), (BATCH, 5), (AXIS, 140), (AXIS, 70),
          (FEATURE, 70), (BATCH, 3), (AXIS, 38), (FEATURE, 38), (AXIS, 21), (FEATURE, 20), (BATCH, 2), (AXIS, 13), (FEATURE, 10),
          (AXIS, 9), (FEATURE, 6), (AXIS, 6), (FEATURE, 4))
BATCH_RANK = 3  # of an input: the first axis of a matrix is no batch
# A long axis takes the threads of a block several turns: more than twice 1024 of them, of four elements each or of one.
LONG = (8500, 2150, 1100, 550)
MOST_LONG = 3  # variants
STEPS = 6  # of a search between two sizes
MULTIPLES = (2, 4, 8)
FACTORS = (2, 3, 4)  # of one constant to another that it is scaled with
LARGE_MULTIPLES = (12, 16, 24, 32, 48, 64, 128)
# Of a variant, what the k of m * k leaves divided by 8; one after the other for its constants. Odd ones are no vectors.
RESIDUES = ((5, 3, 7, 1), (3, 7, 1, 5), (6, 2, 6, 2), (7, 1, 5, 3))
LEAST_SHARE = 0.8  # of a size that remainders leave
SHRINK = (1.0, 0.93, 0.9, 0.85)  # of variants, so that all of their sizes differ


class Group:
    """Constants that are scaled together. members: how many times the group's value each has, by its number; multiple: what
    values are multiples of."""

    def __init__(self, members, value):
        self.members, self.value = members, value
        self.multiple, self.role, self.size = 1, None, value


class Search:
    def __init__(self, text, together=False):
        """`together`: constants of equal value. own: the probe at the task's own size, or None."""
        self.text = text
        self.together = together
        self.most = LIMITS[0]
        self.constants = find_constants(text)
        self.known = {}
        self.own = self.look({})
        self.groups = []
        if self.own is not None:
            self.form = self.own.form()
            self.group()

    # ---- A size

    def values(self, sizes):
        """`sizes`: by group; the others keep what they have."""
        values = [constant.value for constant in self.constants]
        for group, size in sizes.items():
            for index, factor in group.members.items():
                values[index] = factor * size
        return values

    def variant(self, sizes):
        return with_values(self.text, self.constants, self.values(sizes))

    def look(self, sizes):
        key = tuple(self.values(sizes))
        if key not in self.known:
            self.known[key] = probe(self.variant(sizes))
        return self.known[key]

    def runs(self, sizes):
        found = self.look(sizes)
        return found is not None and found.form() == self.form

    def fits(self, sizes):
        found = self.look(sizes)
        return found.elements <= self.most[0] and found.lane_operations <= self.most[1]

    # ---- Which constants are scaled, and how

    def group(self):
        """Of each constant whether the reference runs with another value, alone or with its equals, and what that changes."""
        taken = set()
        for index, constant in enumerate(self.constants):
            if index in taken:
                continue
            group = self.scalable(index, taken)
            if group:
                taken.update(group.members)
                self.groups.append(group)

    def scalable(self, index, taken):
        value = self.constants[index].value
        equals = {i: 1 for i, c in enumerate(self.constants) if c.value == value and i not in taken}
        small = [m for m in {*MULTIPLES, *small_numbers(self.text)} if m > 1]
        both = sorted({m * n for m in (1, *small) for n in (1, *small)})
        alone = [{index: 1}] + [equals] * (len(equals) > 1)
        if self.together:
            alone.reverse()
        tried = [(members, value, multiples) for multiples in ([1, *small], both, LARGE_MULTIPLES) for members in alone]
        tried += [(members, smaller, [1, *small]) for members, smaller in self.proportional(index, taken)]
        for members, smallest, multiples in tried:
            for multiple in sorted(multiples):
                group = Group(members, smallest)
                if multiple < smallest and self.scales(group, multiple):
                    return group if group.role else None
        return None

    def proportional(self, index, taken):
        """(members, the smaller value) of pairs of it and another, one of which is a small multiple of the other."""
        value = self.constants[index].value
        for factor in FACTORS:
            for other, constant in enumerate(self.constants):
                if other not in taken and min(value, constant.value) > SMALL:
                    if constant.value == factor * value:
                        yield {index: 1, other: factor}, value
                    elif value == factor * constant.value:
                        yield {index: factor, other: 1}, constant.value

    def scales(self, group, multiple):
        """Whether it runs with the two next smaller multiples that have no other divisor in common with tiles; then the group's
        role is what it sets, None if that is nothing."""
        smaller = (multiple * k for k in range(group.value // multiple, 0, -1) if 1 < multiple * k < group.value and k % 2)
        tried = list(islice(smaller, 2))
        if not tried or not all(self.runs({group: size}) for size in tried):
            return False
        changed = self.look({group: tried[0]})
        axes = {axis if len(own) >= BATCH_RANK else None for own, other in zip(self.own.input_shapes, changed.input_shapes)
                for axis, (a, b) in enumerate(zip(own, other)) if a != b}
        if changed.parameters != self.own.parameters:
            group.role = FEATURE
        elif axes == {0}:
            group.role = BATCH
        elif axes:
            group.role = AXIS
        if group.role != BATCH and group.value <= SMALL:
            group.role = None
        group.multiple = multiple
        return True

    # ---- How far

    def find(self, long=None, length=0):
        """Sizes by group that fit, one of which is `length` long; None if there are none."""
        sizes = {group: self.rounded(group, length) if group is long else group.value for group in self.groups}
        if not self.runs(sizes):
            return None
        if self.fits(sizes):
            return sizes
        for before, sizes in self.shrinking(sizes, long):
            if self.fits(sizes):
                return self.largest(before, sizes)
        return None

    def shrinking(self, sizes, long=None):
        """(sizes before, sizes after) of each phase."""
        for role, floor in PHASES:
            before = dict(sizes)
            for group in self.groups:
                if group is not long and group.role == role and sizes[group] > floor:
                    smaller = {**sizes, group: self.rounded(group, floor)}
                    if self.runs(smaller):
                        sizes = smaller
            yield before, sizes

    def within_limits(self):
        """Sizes by group within the first limits that any are within; None if there are none."""
        sizes = self.find()
        if sizes is not None or self.own is None:
            return sizes
        smallest = list(self.shrinking({group: group.value for group in self.groups}))[-1][1]
        staying = sum(map(math.prod, self.look(smallest).parameters))
        for elements, lane_operations in LIMITS[1:]:
            self.most = elements + staying, lane_operations
            sizes = self.find()
            if sizes is not None:
                return sizes
        return None

    def largest(self, above, below):
        """Between sizes that do not fit and smaller ones that do: the largest within STEPS that run."""
        best = below
        low, high = 0.0, 1.0
        for _ in range(STEPS):
            middle = (low + high) / 2
            tried = {group: self.rounded(group, round(size * (above[group] / size)**middle)) for group, size in below.items()}
            if self.runs(tried) and self.fits(tried):
                low, best = middle, tried
            else:
                high = middle
        return best

    @staticmethod
    def rounded(group, size, residue=None):
        """Near `size`: a multiple of the group's, of which k leaves `residue` divided by 8, or is odd or even as it is."""
        most = max(1, min(size, group.value) // group.multiple)
        nearest = range(most, max(1, math.ceil(LEAST_SHARE * most), most - 16) - 1, -1)
        wanted = [] if residue is None else [k for k in nearest if k % 8 == residue % 8] + [
            k for k in nearest if k % 2 == residue % 2]
        return group.multiple * (wanted or [k for k in nearest if k % 2] or [most])[0]

    # ---- Variants

    def variants(self, count):
        """(sizes by group, whether one axis is long) of `count` variants, then of those with a long axis."""
        base = self.within_limits()
        if base is None:
            return []
        found = []
        for number in range(count):
            self.add(found, base, number, None)
        longest = sorted((g for g in self.groups if base[g] < min(g.value, LONG[0])), key=lambda g: -g.value)
        for number, group in enumerate(longest[:MOST_LONG]):
            for length in LONG:
                sizes = self.find(group, length) if base[group] < length <= group.value else None
                if sizes:
                    self.add(found, sizes, number, group)
                    break
        return found

    def add(self, found, base, number, long):
        """With remainders of its own: no two groups have the same size, where that is possible."""
        sizes = {}
        for place, group in enumerate(self.groups):
            size = base[group]
            if size < group.value or group.value > SMALL:
                shrunk = max(1, math.ceil(size * (1.0 if group is long else SHRINK[number % len(SHRINK)])))
                size = self.rounded(group, shrunk, RESIDUES[number % len(RESIDUES)][place % 4])
            while size in sizes.values() and size > 16 * group.multiple:
                size -= 8 * group.multiple
            sizes[group] = size
        for tried in (sizes, base):
            if self.runs(tried) and self.fits(tried):
                if tried not in [known for known, _ in found]:
                    found.append((tried, long is not None))
                return

    def named(self, sizes):
        """By name of the constants that are not as the task has them."""
        values = self.values(sizes)
        return {constant.name: value for constant, value in zip(self.constants, values) if value != constant.value}
