"""The four kinds of secret test inputs. Each is made from what the task's get_inputs() gives under a secret seed, and keeps what
the task's inputs have in common: zeros of a triangle, an order or a symmetry that they have under several seeds, rows that
sum to one, the range of probabilities. Integers, masks that are drawn, and constants stay as get_inputs() gives them.

plain       as the task draws; what it gives alike under every seed is drawn by oracle_literals.py, as a constant is neither
            secret nor sampled
shifted     another scale, and a shift of at most three standard deviations; the same for all test inputs of a task
sparse      most elements zero (or small), some large
            of both, the largest and the smallest element of each slice are where oracle_places.py puts them
structured  each slice of a pattern of its own (oracle_patterns.py); where that cannot be, small elements with the mass at
            the ends of tiles and in the last row; what torch.randint() draws holds the ends of its range
"""
import contextlib
import math
import random

import torch

from oracle_literals import Literal, Order, demote, is_symmetric, symmetric
from oracle_patterns import NARROW, PATTERNS, Assignment, Slices
from oracle_places import Places
from oracle_values import leaves, like_strides, readable, with_leaves

KINDS = ("plain", "shifted", "sparse", "structured")
# What is tried for a kind, strictest first, until the reference stays as finite as on plain test inputs.
VARIANTS = {"plain": ("plain", "as_given"), "shifted": ("shift", "scale", "plain", "as_given"),
            "sparse": ("sparse", "small", "spiked", "plain", "as_given"),
            "structured": ("patterns", "tiles", "plain", "as_given")}
# Exact zeros tie with each other, and what an index of a tie is, is nobody's fault.
VARIANTS_OF_INDICES = {**VARIANTS, "sparse": ("small", "spiked", "plain", "as_given")}

TILE = 16
KEPT_SHARE = 0.15
SPIKED_SHARE = 0.02
SPIKE = 6.0
AWAY_FROM_ZERO = 0.01  # deviations
MOST_TURNS = 2
LEAST_FOR_ENDS = 4
STRUCTURED = {"patterns", "tiles"}
SHIFTED, SPARSE = {"shift", "scale"}, {"sparse", "small", "spiked"}


@contextlib.contextmanager
def ends_of_ranges(generator):
    """Meanwhile what torch.randint() draws holds the least and the greatest integer that it could, at random places: the
    first and the last row of a table, which a test input of some elements hardly ever names."""
    original = torch.randint

    def randint(*args, **kwargs):
        sampled = original(*args, **kwargs)
        numbers = [a for a in args[:2] if isinstance(a, int)]
        low = kwargs.get("low", numbers[0] if len(numbers) == 2 else 0)
        high = kwargs.get("high", numbers[-1] if numbers else None)
        if high is not None and sampled.numel() >= LEAST_FOR_ENDS and sampled.is_contiguous():
            first, last = torch.randperm(sampled.numel(), generator=generator)[:2]
            sampled.view(-1)[first], sampled.view(-1)[last] = low, high - 1
        return sampled

    torch.randint = randint
    try:
        yield
    finally:
        torch.randint = original


def _without_nan(tensor):
    return torch.nan_to_num(readable(tensor), math.pi) if tensor.is_floating_point() else tensor


class Nature:
    """What one leaf of the inputs is like, told from a plain test input."""

    def __init__(self, tensor, other, secret):
        """`other`: the same leaf under another seed."""
        self.changes = False
        alike = tensor.shape == other.shape and torch.equal(_without_nan(tensor), _without_nan(other))
        self.literal = Literal(tensor) if alike else None
        self.method = None  # by which the literal is drawn, of its methods
        if not tensor.is_floating_point() or tensor.numel() < 2:
            return
        x = tensor.detach().double()
        y = other.detach().double() if other.shape == x.shape else x  # which the reference is given later
        finite = x[torch.isfinite(x)]
        if finite.numel() < x.numel():
            return
        sample = finite.reshape(-1)[:4096].unique()
        if sample.numel() == 1 or bool((sample == sample.round()).all()):
            return  # a constant, or a mask, labels or counts in floating point
        self.changes = True
        low, high = float(x.min()), float(x.max())
        zeros = x == 0
        self.zeros = float(zeros.double().mean()) > 0.01
        self.probability = low >= 0 and high <= 1
        self.sorted = bool(self.literal.order if self.literal else Order(x, y))
        self.one_sided = low >= 0 or high <= 0
        self.sums_to_one = x.dim() > 0 and x.shape[-1] > 1 and self.probability and bool(
            ((x.sum(-1) - 1).abs() < 1e-4).all())
        self.symmetric = is_symmetric(x) and is_symmetric(y)
        self.narrow = tensor.dtype in NARROW
        self.low, self.high, self.deviation = low, high, float(x.std())
        self._choose_shift(secret)

    def _choose_shift(self, secret):
        deviation, low, high = self.deviation, self.low, self.high
        if self.probability:
            self.scale, self.offset = secret.uniform(0.3, 0.5), secret.uniform(0.05, 0.45)
        else:
            self.scale = math.exp(secret.uniform(math.log(0.5), math.log(3)))
            sign = secret.choice((1, -1)) if not self.one_sided else 1 if low >= 0 else -1
            self.offset = sign * secret.uniform(0.75, 2.5) * deviation * self.scale

    def widen(self, secret):
        """Gives up a bound that its elements have: that of probabilities, then that they have one sign. False if there is
        none."""
        if not self.changes or self.sums_to_one or not (self.probability or self.one_sided):
            return False
        self.probability, self.one_sided = False, self.probability
        self._choose_shift(secret)
        return True

    def patterns(self):
        """Those that such inputs can have."""
        found = PATTERNS["probability" if self.probability else "one_sided" if self.one_sided else "signed"]
        excluded = set()
        if self.one_sided and min(abs(self.low), abs(self.high)) > AWAY_FROM_ZERO * self.deviation:
            excluded.add("zero")
        return [pattern for pattern in found if pattern not in excluded]

    def may_exchange(self):
        """Are its elements what they are wherever they stand?"""
        return self.changes and not (self.zeros or self.sorted or self.symmetric or self.sums_to_one)

    def _must_stay(self, variant):
        """Would the variant undo an order, or one of two things that hold at once?"""
        return self.sorted and variant not in ("shift", "scale") or self.symmetric and self.sums_to_one

    def apply(self, variant, tensor, generator, assignment=None):
        if variant == "as_given":
            return tensor
        if self.method:
            tensor = self.literal.sampled(self.method, generator)
        if variant == "plain" or not self.changes or self._must_stay(variant):
            return tensor
        x = tensor.detach() if tensor.dtype in (torch.float32, torch.float64) else tensor.detach().float()
        if variant == "patterns":
            y = assignment.apply(x, self, generator) + 0.0
        else:
            y = getattr(self, "_" + variant)(x, generator) + 0.0  # no negative zeros: no task means them
        if self.zeros:
            y = torch.where(x == 0, 0.0, y)
        if self.symmetric:
            y = symmetric(y)
        if self.sums_to_one:
            total = y.sum(-1, keepdim=True)
            y = torch.where(total > 0, y / total, x)
        return like_strides(y, tensor)

    def _shift(self, x, generator):
        return x * self.scale + self.offset

    def _scale(self, x, generator):
        return x * self.scale

    def _sparse(self, x, generator, rest=0.0):
        chance = torch.rand(x.shape, generator=generator)
        spike = 1.0 if self.probability else SPIKE
        return torch.where(chance < SPIKED_SHARE, x * spike, torch.where(chance < KEPT_SHARE, x, x * rest))

    def _small(self, x, generator):
        return self._sparse(x, generator, rest=2.0**-7)

    def _spiked(self, x, generator):
        return self._sparse(x, generator, rest=1.0)

    def _tiles(self, x, generator):
        heavy = torch.zeros(x.shape, dtype=torch.bool)
        if x.dim() > 0:
            index = torch.arange(x.shape[-1])
            heavy |= (index % TILE == TILE - 1) | (index == x.shape[-1] - 1)
        if x.dim() > 1:
            heavy[..., -1, :] = True
        if x.dim() > 2:
            heavy[-1, ...] = True
        return x * torch.where(heavy, 1.0, 0.05) if self.probability else x * torch.where(heavy, 3.0, 0.1)


class TestInputs:
    """Makes test inputs. Thread of seeds: one secret for a task, from which nothing else is derived."""

    def __init__(self, get_inputs, secret):
        self.get_inputs = get_inputs  # takes a seed
        self.secret = random.Random(secret)
        self.natures = None
        self.assignments = None
        self.places = []  # none before the first look is over
        self.generator = torch.Generator().manual_seed(self.seed())

    def seed(self):
        return self.secret.getrandbits(31)

    def plain(self):
        inputs = self.get_inputs(self.seed())
        if self.natures is None:
            others = leaves(self.get_inputs(self.seed()))
            self.natures = [Nature(leaf, other, self.secret) for leaf, other in zip(leaves(inputs), others)]
        self.last = inputs
        return inputs

    def demote(self):
        return demote(self.natures)

    def widen(self):
        """Gives up a bound of each leaf that has one, or has integers drawn that are given alike; false if there is neither."""
        return any([nature.widen(self.secret) for nature in self.natures]) or any(
            [nature.literal.release() for nature in self.natures if nature.literal])

    def cut(self, axes_of_leaves):
        """How structured test inputs cut each leaf: by its separable axes, or else along the first."""
        self.slices, self.places = [], []
        for nature, leaf, axes in zip(self.natures, leaves(self.last), axes_of_leaves):
            first = [axis for axis, size in enumerate(leaf.shape) if size > 1][:1]
            self.slices.append(Slices(leaf.shape, axes or first) if nature.changes else None)
            whole = Slices(leaf.shape, axes)
            self.places.append(Places(whole) if nature.may_exchange() and whole.inner > 1 else None)

    def patterns(self):
        """Those that some leaf can have."""
        return set().union(*(nature.patterns() for nature in self.natures if nature.changes))

    def deal(self, excluded, only=None):
        """Gives each slice a pattern, `only` one or all but the excluded. Where a leaf has fewer slices than patterns, test
        inputs take turns; says how many."""
        self.assignments, turns = [], 1
        for nature, slices in zip(self.natures, self.slices):
            if slices is None:
                self.assignments.append([None] * MOST_TURNS)
                continue
            patterns = [p for p in nature.patterns() if p not in excluded and only in (None, p)] or ["tiles"]
            seed = self.secret.getrandbits(64)
            self.assignments.append([Assignment(slices, patterns, turn, random.Random(seed)) for turn in range(MOST_TURNS)])
            if slices.count < len(patterns):
                turns = MOST_TURNS
        return turns

    def jitters(self, turn, hold_ties):
        """How each leaf is jittered, see Assignment.jitter(), or None."""
        return [dealt[turn] and dealt[turn].jitter(nature.deviation, hold_ties)
                for nature, dealt in zip(self.natures, self.assignments)]

    def make(self, variant, turn=0, hold_ties=False, with_twins=False):
        """Inputs, and how each leaf is jittered: see jitters(); None if as usual."""
        generator = torch.Generator().manual_seed(self.seed())
        with ends_of_ranges(generator) if variant in STRUCTURED else contextlib.nullcontext():
            inputs = self.plain()
        dealt = [None] * len(self.natures) if self.assignments is None else [turns[turn] for turns in self.assignments]
        made = [nature.apply(variant, leaf, generator, assignment)
                for nature, leaf, assignment in zip(self.natures, leaves(inputs), dealt)]
        forms = self.jitters(turn, hold_ties) if variant == "patterns" else None
        if variant in SHIFTED | SPARSE:
            made, forms = self.exchanged(made, variant in SPARSE, with_twins, generator)
        return with_leaves(inputs, made), forms

    def exchanged(self, made, lowest_first, with_twins, generator):
        """The leaves with their extremes moved, and how they are jittered: slices with twins are not."""
        forms = []
        for index, (leaf, places) in enumerate(zip(made, self.places)):
            twins = None
            if places:
                moved, twins = places.apply(readable(leaf), generator, lowest_first, with_twins)
                made[index] = like_strides(moved, leaf)
            forms.append(None if twins is None else [torch.where(twins, 0.0, 1.0).double(), torch.zeros(())])
        return made, forms if any(forms) else None
