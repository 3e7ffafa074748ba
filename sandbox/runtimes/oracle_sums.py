"""What a sum loses that is added up from left to right in float32, as one thread does it: where terms are equal all its
roundings go one way. PyTorch adds in lanes and by halves, so that its own error says nothing of it. Of a few terms a bound does;
of many it would have to be so wide that a term could be missing, and so the terms that there are are added up."""
import math

import torch
import torch.nn.functional as F

BY_A_BOUND = 256  # terms, at most
LOST_OF_A_TERM = 2.0**-27  # of a sum; an eighth of a rounding, and allowances are four times that
LOST_AT_RANDOM = 2.0**-26  # times the root of the number of terms: in whatever order
PIECE = 4 << 20  # elements that are added up in one go
PLAIN = {"sum", "nansum"}
MEANS = {"mean", "nanmean"}
# Sums of exponentials, of which the answer is a share or the logarithm.
WEIGHTS = {"softmax", "softmin", "log_softmax", "logsumexp"}
LOGARITHMS = {"log_softmax", "logsumexp"}
VARIANCES = {"var", "std"}
NORMS = {"norm", "linalg_vector_norm", "linalg_norm"}
ROOTS = NORMS | {"std"}
ALL = PLAIN | MEANS | WEIGHTS | VARIANCES | NORMS
# With their arguments' names.
NORMALISERS = {F.layer_norm: ("input", "normalized_shape", "weight", "bias", "eps"),
               F.group_norm: ("input", "num_groups", "weight", "bias", "eps"),
               F.instance_norm: ("input", "running_mean", "running_var", "weight", "bias", "use_input_stats", "momentum", "eps"),
               F.batch_norm: ("input", "running_mean", "running_var", "weight", "bias", "training", "momentum", "eps")}
DEFAULT_EPS = 1e-5


def lost(name, args, kwargs, answer):
    """How far such a sum may be off, for each element of the answer or for all."""
    x, dims = args[0], dims_of(name, args, kwargs)
    count = math.prod(x.shape[dim] for dim in dims)
    size = 1.0 if name in LOGARITHMS else answer.abs()
    if count <= BY_A_BOUND:
        return size * (LOST_OF_A_TERM * count)
    at_random = size * (LOST_AT_RANDOM * math.sqrt(count))
    if name in PLAIN | MEANS:
        off = off_from_left(x, dims).reshape(answer.shape)
        return (off / count if name in MEANS else off) + at_random
    off = share_off_from_left(positive_terms(name, x, dims), dims)
    off = off.unsqueeze(dims[0]) if off.numel() != answer.numel() else off.reshape(answer.shape)
    return size * (off / 2 if name in ROOTS else off) + at_random


def positive_terms(name, x, dims):
    """What is summed up where the answer is more than that sum. (A norm of another order than two has others, and hardly loses
    other shares.)"""
    if name in WEIGHTS:
        signed = -x if name == "softmin" else x
        return torch.exp(signed - signed.amax(dims, keepdim=True)).nan_to_num_(0.0)
    return (x if name in NORMS else x - x.mean(dims, keepdim=True)).square()


def dims_of(name, args, kwargs):
    """Along which it sums, from zero on."""
    place = 2 if name in NORMS else 1
    dims = kwargs.get("dim", kwargs.get("axis", args[place] if len(args) > place else None))
    rank = args[0].dim()
    if dims is None or isinstance(dims, bool) or dims == ():  # a bool: var(unbiased)
        dims = (0 if rank in (1, 3) else 1,) if name in WEIGHTS and rank else range(rank)  # softmax() without a dim
    return sorted(dim % rank for dim in ([dims] if isinstance(dims, int) else dims))


def lost_in_normalising(function, args, kwargs):
    """How far each element of the answer may be off by what the row's mean and deviation lose; None of short rows."""
    given = dict(zip(NORMALISERS[function], args)) | kwargs
    x = given["input"]
    rows = normalised_rows(function, x, given)
    if rows is None or rows.shape[1] <= BY_A_BOUND:
        return None
    at_random = LOST_AT_RANDOM * math.sqrt(rows.shape[1])
    middle = rows.mean(1, keepdim=True)
    apart = rows - middle
    squares = apart.square()
    deviation = (squares.mean(1, keepdim=True) + given.get("eps", DEFAULT_EPS)).sqrt()
    off_middle = off_from_left(rows, [1]).unsqueeze(1) / rows.shape[1] + middle.abs() * at_random
    off_squares = share_off_from_left(squares, [1]).unsqueeze(1) + at_random
    off = (off_middle + apart.abs_() * (off_squares / 2)) / deviation
    off = off.reshape(x.transpose(0, 1).shape).transpose(0, 1) if function is F.batch_norm else off.reshape(x.shape)
    weight = given.get("weight")
    if weight is None:
        return off
    return off * (weight.abs() if function is F.layer_norm else weight.abs().reshape(-1, *[1] * (x.dim() - 2)))


def normalised_rows(function, x, given):
    """What is normalised together, [rows, elements]; None where it is by statistics from elsewhere."""
    if function is F.layer_norm:
        return x.reshape(-1, math.prod(given["normalized_shape"]))
    if function is F.group_norm:
        return x.reshape(x.shape[0] * given["num_groups"], -1)
    if function is F.instance_norm:
        return x.reshape(x.shape[0] * x.shape[1], -1) if given.get("use_input_stats", True) else None
    return x.transpose(0, 1).reshape(x.shape[1], -1) if given.get("training", False) else None


def share_off_from_left(terms, dims):
    """Of a sum whose terms have one sign."""
    return (off_from_left(terms, dims) / terms.sum(dims)).nan_to_num_(0.0)


def off_from_left(terms, dims):
    """By how much float32 is off that adds up along these, in memory's order."""
    kept = [dim for dim in range(terms.dim()) if dim not in dims]
    rows = terms.nan_to_num(0.0, 0.0, 0.0).permute(*kept, *dims).reshape(math.prod(terms.shape[dim] for dim in kept), -1)
    off = torch.empty(rows.shape[0], dtype=torch.float64)
    for first in range(0, rows.shape[0], step := max(1, PIECE // max(rows.shape[1], 1))):
        some = rows[first:first + step]
        # One after the other in float32; cumsum() is in double, and sum() in lanes.
        lengths = torch.full((some.shape[0],), some.shape[1])
        total = torch.segment_reduce(some.float().reshape(-1), "sum", lengths=lengths, unsafe=True)
        off[first:first + step] = (total.double() - some.sum(1)).abs_().nan_to_num_(0.0, 0.0, 0.0)
    return off.reshape([terms.shape[dim] for dim in kept])
