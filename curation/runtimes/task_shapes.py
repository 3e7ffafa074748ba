"""Sizes in a task's code: variants of the task with other ones, and the size at which it takes a given time."""
import ast
import random
import time

import torch

from task_reference import Raises, Reference, is_tensor
from task_time import milliseconds_of

MAKERS = ("get_inputs", "get_init_inputs", "get_costing_inputs")
TRIES = 80
LIMIT_S = 20  # of processor time
MOST_ROUNDS = 64
MOST_BYTES_OF_TRIAL = 256 << 20  # of inputs, parameters and answer
MOST_OPERATIONS_OF_TRIAL = 20_000_000_000  # about a second of one core
UNFIT = (Raises, MemoryError, RuntimeError, TypeError, ValueError, NotImplementedError)  # what a task of unfit sizes ends with


class Sites:
    """Whole numbers in the code that may be sizes: of makers of inputs, and of numbers that the module has a name for."""

    def __init__(self, code):
        self.lines = code.encode().splitlines(keepends=True)
        self.found = []  # (maker or "", value, line, begin, end), in the order of the text
        for node in ast.parse(code).body:
            if isinstance(node, ast.FunctionDef) and node.name in MAKERS:
                self.look_into(node, node.name)
            elif isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
                self.look_into(node.value, "")
        self.found.sort(key=lambda site: site[2:])

    def look_into(self, tree, maker):
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and type(node.value) is int and node.value >= 1 and node.lineno == node.end_lineno:
                self.found.append((maker, node.value, node.lineno, node.col_offset, node.end_col_offset))

    def firsts(self):
        """Numbers that shapes may follow from by themselves."""
        return [i for i, site in enumerate(self.found) if site[0] in ("", "get_inputs")]

    def groups(self):
        """Places to change together: one, a pair or all of equal numbers."""
        singles = [(i,) for i in self.firsts()]
        pairs, wholes = [], []
        for i in self.firsts():
            equal = [k for k, site in enumerate(self.found) if site[1] == self.found[i][1]]
            pairs += [(i, k) for k in equal if k > i or self.found[k][0] not in ("", "get_inputs")]
            if len(equal) > 2 and tuple(equal) not in wholes:
                wholes.append(tuple(equal))
        return [singles, list(dict.fromkeys(pairs)), wholes]

    def rewritten(self, group, factor):
        """The code with these numbers times `factor`; None if that changes nothing."""
        lines = list(self.lines)
        for i in sorted(group, key=lambda i: self.found[i][2:], reverse=True):
            _, value, line, begin, end = self.found[i]
            size = max(1, int(value * factor))
            if size == value:
                return None
            text = lines[line - 1]
            lines[line - 1] = text[:begin] + str(size).encode() + text[end:]
        return b"".join(lines).decode()


def shapes_in(leaves):
    return [tuple(x.shape) for x in leaves if is_tensor(x)]


def input_shapes(code, most_elements):
    """Of the task's inputs, once it has answered them with finite numbers. Raises if it does not."""
    reference = Reference(code)
    leaves, spec = reference.inputs(1000)
    if sum(x.numel() for x in leaves if is_tensor(x)) > most_elements:
        raise Raises("inputs above the limit")
    for x in reference.run(leaves, spec):
        if x.numel() == 0 or (x.is_floating_point() and not bool(torch.isfinite(x).all())):
            raise Raises("an answer that is empty or not finite")
    costing = reference.names.get("get_costing_inputs")
    if callable(costing):
        with torch.device("meta"):
            other = Reference(code)
            other.run(*torch.utils._pytree.tree_flatten(list(other.names["get_costing_inputs"]())))
    return shapes_in(leaves)


def find_variants(code, count, factors, seed, most_elements):
    """{"variants": [{"code", "shapes"}]}: at most `count`, each with other shapes of inputs. Fewer numbers are changed together
    where that suffices."""
    rng = random.Random(seed)
    ends = time.process_time() + LIMIT_S
    sites = Sites(code)
    known = [input_shapes(code, float("inf"))]
    found = []
    tries = 0
    for groups in sites.groups():
        candidates = [(group, factor) for group in groups for factor in factors]
        rng.shuffle(candidates)
        for group, factor in candidates:
            if len(found) == count or tries == TRIES or time.process_time() > ends:
                return {"variants": found}
            other = sites.rewritten(group, factor)
            if other is None:
                continue
            tries += 1
            try:
                shapes = input_shapes(other, most_elements)
            except UNFIT:
                continue
            if shapes not in known:
                known.append(shapes)
                found.append({"code": other, "shapes": shapes})
    return {"variants": found}


class Trials:
    """Runs enlarged tasks on data, as far as a box can: the meta device has no index that is out of range. A larger task is judged by
    what the same change makes of the largest one that was run."""

    def __init__(self, code):
        self.base = code
        self.ends = time.process_time() + LIMIT_S

    def succeed(self, other, group, clock):
        if time.process_time() > self.ends:
            return True
        if not self.can_run(other, clock):
            other = Sites(self.base).rewritten(group, 2)
            return not self.can_run(other, clock) or self.runs(other)
        if not self.runs(other):
            return False
        self.base = other
        return True

    @staticmethod
    def can_run(code, clock):
        try:
            _, used, operations = milliseconds_of(code, clock)
        except UNFIT:
            return False
        return used <= MOST_BYTES_OF_TRIAL and operations <= MOST_OPERATIONS_OF_TRIAL

    @staticmethod
    def runs(code):
        try:
            reference = Reference(code)
            reference.run(*reference.inputs(1000))
        except MemoryError:  # of what lies between: no fault of the sizes
            return True
        except UNFIT:
            return False
        return True


def fit_to_time(code, least_ms, most_ms, clock, most_bytes):
    """{"code", "milliseconds"} with sizes doubled until the task takes so long; {"unfit": why} if that cannot be."""
    now, used, _ = milliseconds_of(code, clock)
    trials = Trials(code)
    for _ in range(MOST_ROUNDS):
        if now > most_ms:
            return {"unfit": "takes too long", "milliseconds": now}
        if now >= least_ms:
            return {"code": code, "milliseconds": now, "bytes": used}
        larger = enlarged(code, now, most_ms, clock, most_bytes, trials)
        if larger is None:
            return {"unfit": "cannot be enlarged", "milliseconds": now}
        code, now, used = larger
    return {"unfit": "cannot be enlarged", "milliseconds": now}


def enlarged(code, now, most_ms, clock, most_bytes, trials):
    """(code, milliseconds, bytes) of the first doubling that takes longer and still runs; None if there is none."""
    sites = Sites(code)
    for groups in sites.groups():
        for group in groups:
            other = sites.rewritten(group, 2)
            try:
                after, used, _ = milliseconds_of(other, clock)
            except UNFIT:
                continue
            if now < after <= most_ms and used <= most_bytes and trials.succeed(other, group, clock):
                return other, after, used
    return None
