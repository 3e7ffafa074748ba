"""Work in a reference without which its answer would be the same."""
import copy
import itertools
import time

import torch

from task_pairs import pairs_of
from task_recorder import Recorder, tensors_of
from task_reference import Raises, copied, differs, is_float, jittered
from task_stand_ins import bypass, pass_on, spoil, spoil_others
from torch.utils import _pytree as pytree

SAMPLES = 4
MOST_OPERATORS = 400
MOST_BYTES = 1 << 30  # of what is kept of a pass
ROUNDING = 1e-9
SAME_KIND = 1e-3  # a second normalisation differs from one by what keeps it from dividing by zero
FEW = 8  # so many integers may agree by chance
LARGE = (1e3, 1e5)  # times as large as drawn: a guard against overflow shows, even of small inputs
MILD = (4,)  # for what saturates
IGNORED = -100  # the label that PyTorch's losses leave out
GUARDS = {"isnan", "isinf", "isfinite"}
# They keep an order. Of large numbers that differ rounding makes equal ones, and other places of the largest.
MONOTONE = {"sigmoid", "log_sigmoid_forward", "tanh", "softplus", "erf", "atan", "exp", "_softmax", "_log_softmax"}


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
        recorder = Recorder(sources, stand_in, keep_values, Search.record.__code__ if keep_values else None)
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
        self.operators, self.outputs = first, outputs
        found = {}
        for rounds, why in self.constant_or_repeated(first):
            found.setdefault(rounds[0], why)
        for op in first:
            op.outputs = [x.to("meta") for x in op.outputs]  # the values have been compared, and take most of the memory
        calls = rounds_of(first)
        for rounds in calls:
            op = first[rounds[0]]
            if rounds[0] in found or not (op.tainted and op.is_work and op.outputs and op.outputs[0].is_floating_point()):
                continue
            why = self.without(rounds)
            if why:
                found[rounds[0]] = why
        if not found:
            found = self.undone(calls)
        return [f"{first[number].name} {why}" for number, why in sorted(found.items())]

    # ---- The same value under all samples, or another value's

    def constant_or_repeated(self, first):
        constant = {n for n, op in enumerate(first) if op.tainted and op.is_work and self.may_be_constant(op)}
        repeated = self.equal_to(first, self.values(first, self.draws[0]))
        for sample in range(1, len(self.models)):
            self.check_time()
            others, _ = self.record(sample)
            if [op.name for op in others] != [op.name for op in first]:
                return []
            constant = {n for n in constant if not differs(first[n].outputs[:1], others[n].outputs[:1], ROUNDING)}
            self.keep_equal(repeated, others, self.draws[sample])
        for leaves in self.extremes(LARGE):  # a guard's result is its argument's but for what it guards against
            self.check_time()
            try:
                others, outputs = self.record(0, leaves)
            except Exception:  # noqa: BLE001: inputs that the task does not allow
                continue
            if all_finite(outputs) and [op.name for op in others] == [op.name for op in first]:
                self.keep_equal(repeated, others, leaves)
        repeated = {n for n, places in repeated.items() if places}
        found = []
        for rounds in rounds_of(first):
            if constant.issuperset(rounds):
                found.append((rounds, "always has the same result"))
            elif repeated.issuperset(rounds) or rounds[1:] and repeated.issuperset(rounds[1:]):
                found.append((rounds, "computes what is there already"))
        return [(rounds, why) for rounds, why in found if not self.others_matter(rounds)]

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

    def extremes(self, factors):
        """Inputs for which guards are made, one after another, as they may be large: all zeros and nothing chosen, numbers that
        are these factors as large, negative ones, labels to ignore. What is zero in every draw stays so: a triangle of a matrix,
        for one."""
        leaves = self.draws[0]
        yield [torch.zeros_like(x) if is_float(x) or is_mask(x) else x for x in leaves]
        for factor in factors:
            yield [x * factor if is_float(x) else x for x in leaves]
        yield [torch.where(self.always_zero(i), x, x - x.mean() - 3) if is_float(x) and x.numel() else x
               for i, x in enumerate(leaves)]
        if any(is_label(x) for x in leaves):
            yield [some_ignored(x) if is_label(x) else x for x in leaves]

    def always_zero(self, place):
        return torch.stack([draw[place] == 0 for draw in self.draws]).all(dim=0)

    def without(self, rounds):
        """`rounds`: calls from one place of the code. The first of a loop may have nothing to do, as with a state of zeros, and
        the result of the last may not be used. What is redundant can be left out of all rounds, or of all but the first."""
        self.check_time()
        op = self.operators[rounds[0]]
        is_place = op.name in MONOTONE and not any(x.is_floating_point() for x in self.outputs)
        factors = MILD if is_place else LARGE
        if self.unchanged(rounds, spoil, ROUNDING, factors):
            return "has no effect on the answer"
        if self.others_matter(rounds):
            return None
        later = rounds[1:]
        if later and self.unchanged(later, spoil, ROUNDING):
            return None
        for left_out in (rounds, later) if later else (rounds,):
            op = self.operators[left_out[0]]
            for place, producer in zip(op.candidates, op.producers):
                self.check_time()
                tolerance = SAME_KIND if producer == op.name else ROUNDING
                if self.unchanged(left_out, bypass(place), tolerance, factors if tolerance == ROUNDING else None):
                    return "could be left out"
        return None

    def others_matter(self, rounds):
        """Is more than the first output of an operator used?"""
        return len(self.operators[rounds[0]].outputs) > 1 and not self.unchanged(rounds, spoil_others, ROUNDING)

    def undone(self, calls):
        """Two operators that undo each other."""
        for earlier, later, changes_shape in pairs_of(self.operators, calls):
            self.check_time()
            change = pass_on if changes_shape else bypass(0)
            if self.unchanged(earlier + later, change, ROUNDING, LARGE):
                return {later[0]: f"undoes {self.operators[earlier[0]].name}: both could be left out"}
        return {}

    def unchanged(self, numbers, change, tolerance, factors=None):
        """Is the answer what it is without `change`: on all samples, and with `factors` on extremes?"""
        def stand_in(n, func, flat, result):
            return change(func, flat, result) if n in numbers else result
        try:
            if differs(self.outputs, self.record(0, stand_in=stand_in, keep_values=False)[1], tolerance):
                return False
            samples = ((sample, None) for sample in range(1, len(self.models)))
            extremes = ((0, leaves) for leaves in self.extremes(factors)) if factors else ()
            for sample, leaves in itertools.chain(samples, extremes):
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


def rounds_of(operators):
    """Numbers of the calls that one place of the code makes, a tuple each: the rounds of a loop belong together."""
    found = {}
    for number, op in enumerate(operators):
        found.setdefault((op.site, op.name), []).append(number)
    return [tuple(numbers) for numbers in found.values()]


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


def find_redundant(reference, model, draws, spec, fixed, seconds):
    """(what was found, whether the search came to its end)"""
    try:
        return Search(reference, model, draws, spec, fixed, seconds).find(), True
    except (TooMuch, Raises):
        return [], False
