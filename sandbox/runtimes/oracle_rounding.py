"""What a right program loses where PyTorch is more exact than a plain kernel. In an activation by its formula: exp(x) - 1 for
elu, 1 - 2 / (exp(2 x) + 1) for tanh, x (1 + erf(x / sqrt(2))) / 2 for gelu, x (1 + tanh(x / 2)) / 2 for silu,
log(1 + exp(x)) for softplus. What comes near one on the way is rounded to a share of one, and a device's exp() is off by two
units in the last place. In a sum from left to right: where terms are equal all its roundings go one way, and PyTorch adds in
lanes and by halves. The reference's own error knows nothing of either. In jittered runs such answers are moved by as much, so
that what follows shows what becomes of it. Equal answers are moved alike, as an error is the same for the same argument: ties
stay ties.
"""
import torch

from oracle_profile import Exact

LOST = 2.0**-24  # of what the formula comes near to; between half of it and all
MULTIPLIER = -7046029254386353131  # odd: 2^64 over the golden ratio
SIGNED_BITS = 24
LOST_OF_A_TERM = 2.0**-27  # of a sum, for each of its terms; an eighth of a rounding, and allowances are four times that
MOST_OF_A_SUM = 2.0**-16
SUMS = {"sum", "mean"}
SELU = 1.7580993408473766  # its scale times its alpha


def near_one(args, kwargs):
    return 1.0


def alpha(args, kwargs):
    return abs(float(kwargs.get("alpha", args[1] if len(args) > 1 else 1.0)))


def by_beta(args, kwargs):
    return 1.0 / abs(float(kwargs.get("beta", args[1] if len(args) > 1 else 1.0)))


def argument(args, kwargs):
    return args[0].abs()


FORMULAS = {"elu": alpha, "celu": alpha, "selu": lambda args, kwargs: SELU, "expm1": near_one, "special_expm1": near_one,
            "tanh": near_one, "tanhshrink": near_one, "softplus": by_beta, "log_sigmoid": near_one, "log1p": near_one,
            "special_log1p": near_one, "gelu": argument, "silu": argument, "mish": argument, "sigmoid": near_one}


class Rounding(Exact):
    """In fp64, but for what formulas lose. `seed`: another one moves by other shares."""

    def __init__(self, seed):
        super().__init__()
        self.seed = seed

    def __torch_function__(self, function, types, args=(), kwargs=None):
        name = getattr(function, "__name__", "").removesuffix("_")
        given = args and isinstance(args[0], torch.Tensor)
        size = FORMULAS[name](args, kwargs or {}) if given and name in FORMULAS else None
        answer = super().__torch_function__(function, types, args, kwargs)
        if not given or not isinstance(answer, torch.Tensor) or answer.dtype != torch.float64:
            return answer
        if name in SUMS and answer.numel():
            size = answer.abs().mul_(min(LOST_OF_A_TERM * args[0].numel() / answer.numel(), MOST_OF_A_SUM) / LOST)
        if size is not None:
            answer.add_(self.shares(answer).mul_(size))
        return answer

    def shares(self, answer):
        """Of each element by its bits: of either sign, between half of LOST and all of it."""
        mixed = (answer.view(torch.int64) ^ self.seed) * MULTIPLIER
        share = (mixed >> (64 - SIGNED_BITS)).double().mul_(2.0**-SIGNED_BITS)  # in [-1/2, 1/2)
        return share.add_(torch.where(share < 0, -0.5, 0.5)).mul_(LOST)
