"""What a right program loses in an activation that PyTorch computes more exactly than its formula is: exp(x) - 1 for elu,
1 - 2 / (exp(2 x) + 1) for tanh, x (1 + erf(x / sqrt(2))) / 2 for gelu, log(1 + exp(x)) for softplus. What comes near one on
the way is rounded to a share of one, and a device's exp() is off by two units in the last place; the reference's own error
knows nothing of either. In jittered runs their answers are moved by as much, so that what follows shows what becomes of it.
Equal answers are moved alike, as an error is the same for the same argument: ties stay ties.
"""
import torch

from oracle_profile import Exact

LOST = 2.0**-24  # of what the formula comes near to; between half of it and all
MULTIPLIER = -7046029254386353131  # odd: 2^64 over the golden ratio
SIGNED_BITS = 24
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
            "special_log1p": near_one, "gelu": argument, "mish": argument}


class Rounding(Exact):
    """In fp64, but for what formulas lose. `seed`: another one moves by other shares."""

    def __init__(self, seed):
        super().__init__()
        self.seed = seed

    def __torch_function__(self, function, types, args=(), kwargs=None):
        formula = FORMULAS.get(getattr(function, "__name__", "").removesuffix("_"))
        size = formula(args, kwargs or {}) if formula and args and isinstance(args[0], torch.Tensor) else None
        answer = super().__torch_function__(function, types, args, kwargs)
        if size is not None and isinstance(answer, torch.Tensor) and answer.dtype == torch.float64:
            answer.add_(self.shares(answer).mul_(size))
        return answer

    def shares(self, answer):
        """Of each element by its bits: of either sign, between half of LOST and all of it."""
        mixed = (answer.view(torch.int64) ^ self.seed) * MULTIPLIER
        share = (mixed >> (64 - SIGNED_BITS)).double().mul_(2.0**-SIGNED_BITS)  # in [-1/2, 1/2)
        return share.add_(torch.where(share < 0, -0.5, 0.5)).mul_(LOST)
