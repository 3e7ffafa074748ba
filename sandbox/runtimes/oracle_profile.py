"""The reference in fp64, its own error, and from both what a correct program may deviate by, element by element.

For element i of an output, over test inputs of the same kind: S_i and V_i are the rms and the standard deviation of the fp64
answer y64_i; e_i is the rms of the reference's own error |y - y64_i| (this test input's, if larger) plus the spread of y64_i
if all inputs and parameters are changed by random relative jitters of 2^-22, and activations and sums by what plain kernels
lose in them (oracle_rounding.py). Where much was cancelled an element's own
error is a rounding of few bits, and small by chance: below a sixteenth of the leaf's usual size this test input's counts as at
least the largest of the elements of its octave, as far as that is a 4096th of the usual size. A program may deviate by
    4 e_i + 2 eps |y64_i| + f_i + min(c max(|y64_i|, S_i), 0.02 V_i),    eps of the output's type, c = 1e-4.
Four test inputs tell V_i badly, so it counts as half of what is usual for the size of the element, if that is more: a
hardly varying output is narrow everywhere, and no element is narrow by chance.
f_i is 2^-20 of the element's usual size: of S_i, of S_i on plain test inputs, or of what nine tenths of the elements exceed
there. Where a sparse test input gives exact zeros, a correct program may still leave the rounding of its neighbours.
For TF32 c is 5e-3, 0.02 is 0.1, and S_i at least the usual size of the leaf.
8-bit floats have no 2 eps |y64_i|, as eps is an eighth or a quarter there: rounding to them is exact, like integers,
except where a jitter changes it.
Integers and booleans are exact, except where a jitter changes them.
"""
import copy
import itertools
import random

import torch
from torch.overrides import TorchFunctionMode

from oracle_values import FLOAT8, readable, rebuild

JITTER = 2.0**-22
C_FP32 = 1e-4
C_TF32 = 5e-3
V_FP32 = 0.02
V_TF32 = 0.1
USUAL = 0.5  # of a leaf's median counts for every element
FLOOR = 2.0**-20
MOST_BY_OCTAVE = 2.0**-12  # of the leaf's usual size
CANCELLED = 1 / 16  # an answer so far below the usual size may be what a cancellation left
LEAST_EXPONENT = -150  # of zero: below that of any float32
CHAOTIC = 1 / 64
LARGE = 1e15  # whose square, times a few, is near the end of float32
SMALL_QUANTILE = 0.1
SAMPLE = 16384  # elements that medians are taken of
FEWEST_FOR_DEVIATION = 3
WIDER = {torch.float32: torch.float64, torch.float16: torch.float64, torch.bfloat16: torch.float64,
         torch.complex64: torch.complex128}  # of what is asked for; rounding to 8 bits is a decision, and kept
BANK_SPARE = 4096


class Exact(TorchFunctionMode):
    """Everything that a forward pass asks for in a narrower type comes in fp64."""

    def __enter__(self):
        self.default = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        return super().__enter__()

    def __exit__(self, *error):
        torch.set_default_dtype(self.default)
        return super().__exit__(*error)

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if getattr(function, "__name__", "") in ("float", "half", "bfloat16") and args and isinstance(
                args[0], torch.Tensor):
            return args[0].double()
        args = tuple(WIDER.get(a, a) if isinstance(a, torch.dtype) else a for a in args)
        kwargs = dict(kwargs or {})
        if isinstance(kwargs.get("dtype"), torch.dtype):
            kwargs["dtype"] = WIDER.get(kwargs["dtype"], kwargs["dtype"])
        return function(*args, **kwargs)


def widened(tensor):
    return tensor.double() if tensor.dtype in FLOAT8 else tensor.to(WIDER.get(tensor.dtype, tensor.dtype))


def widened_model(model):
    wide = copy.deepcopy(model)
    if isinstance(wide, torch.nn.Module):
        wide.double()
        for module in wide.modules():
            for name, value in list(vars(module).items()):
                if isinstance(value, torch.Tensor):
                    setattr(module, name, widened(value))
    return wide


class Jitter:
    """Random relative changes. One bank of factors serves every jitter from another offset on: making them anew takes
    longer than most references."""

    def __init__(self, seed):
        self.bank = torch.empty(0, dtype=torch.float64)
        self.generator = torch.Generator().manual_seed(seed)
        self.offsets = random.Random(seed)

    def seed(self):
        """For what else is random in the same run."""
        return self.offsets.getrandbits(62)

    def tensor(self, x, wide, form=None):
        """A changed copy, in fp64 if `wide`. `form`: what multiplies the relative change, and what is added to an element
        for it."""
        if not x.is_floating_point() or x.numel() == 0:
            return x.clone()
        if self.bank.numel() < x.numel() + BANK_SPARE:
            self.bank = torch.rand(x.numel() + BANK_SPARE, generator=self.generator, dtype=torch.float64)
            self.bank = self.bank.mul_(2 * JITTER).add_(1 - JITTER)
        start = self.offsets.randrange(BANK_SPARE)
        factors = self.bank[start:start + x.numel()].view(x.shape)
        if form is not None:
            relative, added = form
            changes = factors - 1
            wanted = x.double() * (1 + changes * relative) + changes * added
            return wanted if wide else wanted.to(x.dtype)
        changed = readable(x) * (factors if wide else factors.to(readable(x).dtype))
        return changed if wide else changed.to(x.dtype)

    def inputs(self, inputs, wide, forms=None):
        """`forms`: of each leaf."""
        of_leaves = iter(forms) if forms else itertools.repeat(None)
        return [rebuild(x, lambda t: self.tensor(t, wide, next(of_leaves))) for x in inputs]

    def model(self, model, buffers=True):
        """Buffers stay where what is compared with them does."""
        changed = copy.deepcopy(model)
        if isinstance(changed, torch.nn.Module):
            for tensor in (*changed.parameters(), *(changed.buffers() if buffers else ())):
                if tensor.is_floating_point():
                    tensor.data = self.tensor(tensor.data, wide=False)
        return changed


def all_finite(x):
    """In one pass without a mask. (A sum that overflows is looked at again.)"""
    return bool(torch.isfinite(x.sum())) or bool(torch.isfinite(x).all())


def finite(x):
    """With zeros where it is not finite."""
    return x if all_finite(x) else torch.nan_to_num(x, 0.0, 0.0, 0.0)


def sampled(x):
    x = x.reshape(-1)
    return x[::max(1, x.numel() // SAMPLE)]


def own_error(own, exact):
    """Of the reference in its own types, float32."""
    return finite(torch.sub(exact, own).abs_().float())


def raised_by_octave(error, size, usual):
    """Of the errors of small elements the largest among those whose sizes have the same exponent, up to a share of the usual
    size."""
    most = usual * MOST_BY_OCTAVE
    if error.numel() == 0 or float(error.max()) <= usual * FLOOR:  # nothing was cancelled
        return error
    octave = torch.where(size > 0, torch.frexp(size).exponent, LEAST_EXPONENT).reshape(-1)
    octave = (octave - octave.min()).long()
    largest = error.new_zeros(int(octave.max()) + 1).scatter_reduce_(0, octave, error.reshape(-1), "amax")
    raised = torch.maximum(error, largest.clamp_(max=most)[octave].view_as(error))
    return torch.where(size < usual * CANCELLED, raised, error)


class LeafStatistics:
    """Sums over test inputs of one kind, for every element of one output leaf; in float32, as a share of a deviation is all that
    they serve for, unless squares overflow in it. Elements that are not finite do not count."""

    def __init__(self):
        self.count = 0
        self.counted = 0

    def add(self, answer, error):
        """`answer`: of any floating-point type. `error`: own_error(), or None if it is not known."""
        answer = answer.float()
        valid = None if all_finite(answer) else torch.isfinite(answer)
        if valid is not None:
            answer = answer.masked_fill(~valid, 0.0)
        if self.count == 0:
            self.first = answer
            self.differences, self.squares, self.powers, self.errors = (torch.zeros_like(answer) for _ in range(4))
            self.with_errors = 0
        if answer.numel() and float(torch.linalg.vector_norm(answer, torch.inf)) > LARGE:
            for name in ("first", "differences", "squares", "powers", "errors"):
                setattr(self, name, getattr(self, name).double())
        answer = answer.to(self.first.dtype)
        difference = answer - self.first
        if valid is not None:
            difference.masked_fill_(~valid, 0.0)
        self.differences += difference
        self.squares.addcmul_(difference, difference)
        self.powers.addcmul_(answer, answer)
        if error is not None:
            error = error.to(self.first.dtype)
            self.errors.addcmul_(error, error)
            self.with_errors += 1
        self.counted = self.counted + (1 if valid is None else valid.float())
        self.count += 1

    def finish(self, plain):
        """Makes what allowances need; nothing is added from here on. `plain`: the statistics of plain test inputs, finished, or
        None if these are they."""
        self.rms = (self.powers / self._count()).sqrt_().float()
        self.error = (self.errors / max(self.with_errors, 1)).sqrt_().float()
        self.deviation = self._deviation().float()
        del self.squares, self.powers, self.errors
        sizes = sampled(self.rms)
        known = sizes > 0
        self.usual_rms = float(sizes[known].median()) if bool(known.any()) else 0.0
        share = float((sampled(self.deviation)[known] / sizes[known]).median()) if bool(known.any()) else 0.0
        self.variation = torch.maximum(self.deviation, self.rms * (USUAL * share))
        plain = plain or self
        if plain is self:
            self.small = float(torch.quantile(sizes[known], SMALL_QUANTILE)) if bool(known.any()) else 0.0
        self.floor = torch.maximum(self.rms, plain.rms).clamp_(min=plain.small).mul_(FLOOR)

    def _count(self):
        return self.counted.clamp(min=1) if isinstance(self.counted, torch.Tensor) else max(self.counted, 1)

    def mean(self):
        return self.first + self.differences / self._count()

    def _deviation(self):
        n = self._count()
        if not isinstance(n, torch.Tensor):
            spread = torch.addcmul(self.squares, self.differences, self.differences, value=-1.0 / n)
            return spread.clamp_(min=0).div_(max(n - 1, 1)).sqrt_()
        spread = (self.squares - self.differences**2 / n).clamp_(min=0)
        deviation = (spread / (n - 1).clamp(min=1)).sqrt()
        # Too few finite answers to estimate it: the leaf's own level.
        known = n >= FEWEST_FOR_DEVIATION
        level = deviation[known].square().mean().sqrt() if bool(known.any()) else deviation.max()
        return torch.where(known, deviation, level)


class Spread:
    """How far answers move under jitters: the largest deviation of floats, a mask for integers. Where the reference comes to a
    number, in its own types and in fp64, a jittered run that comes to none does not count: a program is to come to one, too."""

    def __init__(self, exact_leaves, own_leaves):
        self.reference = [y if own.is_floating_point() else own for y, own in zip(exact_leaves, own_leaves)]
        self.moved = [torch.zeros_like(y, dtype=torch.float64) if own.is_floating_point() else y != own
                      for y, own in zip(exact_leaves, own_leaves)]
        self.own = own_leaves

    def add(self, moved_leaves):
        for index, (moved, reference) in enumerate(zip(moved_leaves, self.reference)):
            if reference.is_floating_point():
                distance = (moved.double() - reference).abs_()
                if not all_finite(distance):
                    known = torch.isfinite(reference) & torch.isfinite(self.own[index])
                    number = torch.isfinite(moved)
                    distance.masked_fill_(~torch.isfinite(reference) & number, torch.inf)
                    distance.masked_fill_(~number & (known | torch.isnan(distance)), 0.0)
                torch.maximum(self.moved[index], distance, out=self.moved[index])
            else:
                self.moved[index] |= moved != reference

    def is_chaotic(self):
        """Does a jitter change some answer by a good part of itself and of what is usual? Then a few of them may by chance leave
        others where they are: behind a relu half of all do."""
        for moved, reference in zip(self.moved, self.reference):
            if not reference.is_floating_point() or not reference.numel():
                continue
            size = finite(reference.double()).abs()
            if bool((finite(moved) > CHAOTIC * size.clamp(min=float(size.mean()))).any()):
                return True
        return False

    def leaves(self):
        """float32, or the mask. Where a jittered run comes to a number and the reference does not, nothing is known: infinite."""
        return [moved if moved.dtype == torch.bool else moved.float() for moved in self.moved]


def allowance(statistics, exact, own, spread, tf32=False, dtype=None):
    """Of one leaf of one test input, in float32; infinite where the reference itself does not know. `exact` is float64, `own`
    the reference's answer, `dtype` its type if `own` has another."""
    size = finite(exact.abs().float())
    e = raised_by_octave(own_error(own, exact), size, statistics.usual_rms)
    e = torch.maximum(statistics.error, e).add_(spread)
    allowed = torch.maximum(size, statistics.rms)
    if tf32:
        allowed.clamp_(min=statistics.usual_rms)
    allowed.mul_(C_TF32 if tf32 else C_FP32)
    torch.minimum(allowed, statistics.variation * (V_TF32 if tf32 else V_FP32), out=allowed)
    allowed.add_(statistics.floor).add_(e, alpha=4)
    if dtype not in FLOAT8:
        allowed.add_(size, alpha=2 * torch.finfo(own.dtype).eps)
    if not all_finite(own):
        allowed.masked_fill_(torch.isfinite(own) != torch.isfinite(exact), torch.inf)
    return allowed


def center_of(exact, own):
    """What candidates are compared with, as it is sent: fp64 answers rounded to float32, integers as they are."""
    if not own.is_floating_point():
        return own.contiguous()
    return (exact if own.dtype == torch.float64 else exact.float()).contiguous()
