"""Work in a reference without which its answer would be the same."""
import copy
import time

import torch

from task_recorder import Recorder, tensors_of, writes_in_place
from task_reference import Raises, copied, differs, is_float, jittered
from torch.utils import _pytree as pytree

SAMPLES = 4
MOST_OPERATORS = 400
MOST_BYTES = 1 << 30  # of what is kept of a pass
ROUNDING = 1e-9
SAME_KIND = 1e-3  # a second normalisation differs from one by what keeps it from dividing by zero
FEW = 8  # so many integers may agree by chance
IGNORED = -100  # the label that PyTorch's losses leave out
GUARDS = {"isnan", "isinf", "isfinite"}


class TooMuch(Exception):
    """The search would take longer than it may."""


class Search:
    """Over one reference. `draws`: lists of input leaves; the first SAMPLES of them are used. `fixed`: places of inputs that
    no seed changes. What is computed of them and of parameters alone is the same every time, and is not looked at."""

    def __init__(self, reference, model, draws, spec, fixed, seconds):
        self.reference, self.spec = reference, spec
        self.models = [jittered(model, 100 + i) for i in range(min(SAMPLES, len(draws)))]
        self.draws = draws[:len(self.models)]
        self.fixed = set(fixed)
        self.ends = time.process_time() + seconds

    def check_time(self):
        if time.process_time() > self.ends:
            raise TooMuch

    def record(self, sample, leaves=None, stand_in=None, keep_values=True):
        model = copy.deepcopy(self.models[sample])
        leaves = [copied(x) for x in (self.draws[sample] if leaves is None else leaves)]
        sources = [x for i, x in enumerate(leaves) if isinstance(x, torch.Tensor) and i not in self.fixed]
        recorder = Recorder(sources, stand_in, keep_values)
        torch.manual_seed(3)
        with torch.no_grad(), recorder:
            returned = model(*pytree.tree_unflatten(leaves, self.spec))
        return recorder.operators, [x.detach() for x in tensors_of(returned)]

    def find(self):
        """What was found, a sentence each."""
        first, outputs = self.record(0)
        if len(first) > MOST_OPERATORS:
            raise TooMuch
        if sum(x.numel() * x.element_size() for op in first for x in op.outputs) > MOST_BYTES:
            raise TooMuch
        found = {}
        for number, why in self.constant_or_repeated(first):
            found.setdefault(number, why)
        extremes = self.extremes()
        for number, op in enumerate(first):
            if number in found or not (op.tainted and op.is_work and op.outputs and op.outputs[0].is_floating_point()):
                continue
            why = self.without(number, op, outputs, extremes, first)
            if why:
                found[number] = why
        return [f"{first[number].name} {why}" for number, why in sorted(found.items())]

    # ---- The same value under all samples, or another value's

    def constant_or_repeated(self, first):
        constant = {n for n, op in enumerate(first) if op.tainted and op.is_work and self.may_be_constant(op)}
        repeated = self.equal_to(first, self.values(first, self.draws[0]))
        for sample in range(1, len(self.models)):
            self.check_time()
            others, _ = self.record(sample)
            if [op.name for op in others] != [op.name for op in first]:
                return
            constant = {n for n in constant if not differs(first[n].outputs[:1], others[n].outputs[:1], ROUNDING)}
            self.keep_equal(repeated, others, self.draws[sample])
        for leaves in self.extremes():  # a guard's result is its argument's but for what it guards against
            self.check_time()
            try:
                others, outputs = self.record(0, leaves)
            except Exception:  # noqa: BLE001: inputs that the task does not allow
                continue
            if all_finite(outputs) and [op.name for op in others] == [op.name for op in first]:
                self.keep_equal(repeated, others, leaves)
        for n in sorted(constant):
            yield n, "always has the same result"
        for n, places in sorted(repeated.items()):
            if places:
                yield n, "computes what is there already"

    @staticmethod
    def may_be_constant(op):
        if op.name in GUARDS or not op.outputs or op.outputs[0].numel() == 0:
            return False
        value = op.outputs[0]
        if value.dtype == torch.bool:  # a check, of an index to ignore for one: what it chooses is judged by itself
            return False
        return value.is_floating_point() or value.numel() >= FEW

    @staticmethod
    def values(operators, leaves):
        """Every value by its place: operators' first outputs from 0 on, inputs from -1 down."""
        found = {n: op.outputs[0] for n, op in enumerate(operators) if op.outputs}
        found.update((-1 - i, x) for i, x in enumerate(leaves) if isinstance(x, torch.Tensor))
        return {place: x for place, x in found.items() if x.is_floating_point() and x.numel()}

    @staticmethod
    def equal_to(operators, values):
        """Of each operator whose work may be repeated: places of equal values before it."""
        by_size, equal = {}, {}
        for n in sorted(values):
            value = values[n]
            known = by_size.setdefault(value.numel(), [])
            if n >= 0 and operators[n].tainted and operators[n].is_work:
                same = {p for p in known if (p < 0 or operators[p].tainted) and
                        not differs([flat_of(values[p])], [flat_of(value)], ROUNDING)}
                if same:
                    equal[n] = same
            known.append(n)
        return equal

    def keep_equal(self, repeated, operators, leaves):
        values = self.values(operators, leaves)
        for n, places in repeated.items():
            places -= {p for p in places if p not in values or n not in values or
                       differs([flat_of(values[p])], [flat_of(values[n])], ROUNDING)}

    # ---- Left out, or spoilt

    def extremes(self):
        """Inputs for which guards are made: all zeros and nothing chosen, large ones, negative ones, labels to ignore. What is
        zero in every draw stays so: a triangle of a matrix, for one."""
        leaves = self.draws[0]
        cases = [[torch.zeros_like(x) if is_float(x) or is_mask(x) else x for x in leaves],
                 [x * 1000 if is_float(x) else x for x in leaves],
                 [torch.where(self.always_zero(i), x, x - x.mean() - 3) if is_float(x) and x.numel() else x
                  for i, x in enumerate(leaves)]]
        if any(is_label(x) for x in leaves):
            cases.append([some_ignored(x) if is_label(x) else x for x in leaves])
        return cases

    def always_zero(self, place):
        return torch.stack([draw[place] == 0 for draw in self.draws]).all(dim=0)

    def without(self, number, op, outputs, extremes, operators):
        self.check_time()
        if self.unchanged(number, spoil, outputs, ROUNDING, extremes):
            return "has no effect on the answer"
        others_used = len(op.outputs) > 1 and self.others_matter(number, op, outputs)
        if others_used:
            return None
        for place, producer in zip(op.candidates, op.producers):
            self.check_time()
            tolerance = SAME_KIND if producer == op.name else ROUNDING
            if self.unchanged(number, bypass(place), outputs, tolerance, extremes if tolerance == ROUNDING else ()):
                return "could be left out"
        return None

    def others_matter(self, number, op, outputs):
        return not self.unchanged(number, spoil_others, outputs, ROUNDING, ())

    def unchanged(self, number, change, outputs, tolerance, extremes):
        def stand_in(n, func, flat, result):
            return change(func, flat, result) if n == number else result
        try:
            if differs(outputs, self.record(0, stand_in=stand_in, keep_values=False)[1], tolerance):
                return False
            cases = [(sample, None) for sample in range(1, len(self.models))] + [(0, leaves) for leaves in extremes]
            for sample, leaves in cases:
                self.check_time()
                try:
                    own = self.record(sample, leaves, keep_values=False)[1]
                except Exception:  # noqa: BLE001: inputs that the task does not allow
                    continue
                if leaves is not None and not all_finite(own):
                    continue
                if differs(own, self.record(sample, leaves, stand_in, keep_values=False)[1], tolerance):
                    return False
            return True
        except (TooMuch, MemoryError):
            raise
        except Exception:  # noqa: BLE001: without this operator the code does not run
            return False


def all_finite(outputs):
    return all(bool(torch.isfinite(x).all()) for x in outputs if x.is_floating_point())


def is_mask(x):
    return isinstance(x, torch.Tensor) and x.dtype == torch.bool


def is_label(x):
    return isinstance(x, torch.Tensor) and x.dtype == torch.int64 and x.numel() > 1


def some_ignored(x):
    ignored = x.clone()
    ignored.view(-1)[::2] = IGNORED
    return ignored


def flat_of(value):
    return value.reshape(-1)


def spoil(func, flat, result):
    """Other values of all its outputs, integers as possible as before."""
    generator = torch.Generator().manual_seed(5)
    for x in tensors_of(result):
        if x.is_floating_point():
            noise = torch.rand(x.shape, generator=generator, dtype=torch.float64).to(x.dtype)
            x.mul_(1 + noise).add_(noise + 0.5)
        elif x.dtype == torch.bool:
            x.logical_not_()
        else:
            rolled = x.reshape(-1).roll(1).reshape(x.shape)
            if torch.equal(rolled, x):
                raise TypeError("nothing to tell by")
            x.copy_(rolled)
    return result


def spoil_others(func, flat, result):
    generator = torch.Generator().manual_seed(5)
    for x in tensors_of(result)[1:]:
        if x.is_floating_point():
            x.add_(torch.rand(x.shape, generator=generator, dtype=torch.float64).to(x.dtype) + 0.5)
        elif x.dtype != torch.bool and x.numel() > 1:
            x.copy_(x.reshape(-1).roll(1).reshape(x.shape))
    return result


def bypass(place):
    def change(func, flat, result):
        first = tensors_of(result)[0]
        other = flat[place].reshape(first.shape).to(first.dtype)
        if writes_in_place(func):
            first.copy_(other)
            return result
        other = other.clone()
        return (other, *result[1:]) if isinstance(result, (tuple, list)) else other
    return change


def find_redundant(reference, model, draws, spec, fixed, seconds):
    """(what was found, whether the search came to its end)"""
    try:
        return Search(reference, model, draws, spec, fixed, seconds).find(), True
    except (TooMuch, Raises):
        return [], False
