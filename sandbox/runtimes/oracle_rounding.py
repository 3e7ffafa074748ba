"""What a correct program loses where PyTorch is more exact than a plain kernel. In an activation by its formula: exp(x) - 1 for
elu, 1 - 2 / (exp(2 x) + 1) for tanh, x (1 + erf(x / sqrt(2))) / 2 for gelu, x (1 + tanh(x / 2)) / 2 for silu,
log(1 + exp(x)) for softplus. What comes near one on the way is rounded to a share of one, and a device's exp() is off by two
units in the last place. In a sum by its order (oracle_sums.py). The reference's own error knows nothing of either. In jittered
runs such answers are moved by as much, so that what follows shows what becomes of it. Equal answers are moved alike, as an error
is the same for the same argument: ties stay ties. No formula leaves the range of tanh, sigmoid, elu or softmax, and so no answer
is moved out of it: a logarithm behind it would be no number, and whatever is computed of that could not be compared. Next to an
end that float32 can come as near to as it likes (sigmoid's zero, and not its one) a share of what is left is lost, and no more is
taken, though some formulas lose all of it (sigmoid by tanh, log(1 + exp(x))): what follows such an answer closely, as a logarithm
does, is wrong by them.
"""
import math

import torch

import oracle_sums
from oracle_profile import Exact

LOST = 2.0**-24  # of what the formula comes near to; between half of it and all
MULTIPLIER = -7046029254386353131  # odd: 2^64 over the golden ratio
SIGNED_BITS = 24
SELU = 1.7580993408473766  # its scale times its alpha
MOST_OF_REST = 2.0**-8  # of an answer that comes near zero and never gets there


def near_one(args, kwargs):
    return 1.0


def alpha(args, kwargs):
    return abs(float(kwargs.get("alpha", args[1] if len(args) > 1 else 1.0)))


def by_beta(args, kwargs):
    return 1.0 / abs(float(kwargs.get("beta", args[1] if len(args) > 1 else 1.0)))


def argument(args, kwargs):
    return args[0].abs()


FORMULAS = {"elu": alpha, "celu": alpha, "selu": lambda args, kwargs: SELU, "expm1": near_one, "tanh": near_one,
            "tanhshrink": near_one, "softplus": by_beta, "log_sigmoid": near_one, "log1p": near_one, "gelu": argument,
            "silu": argument, "mish": argument}
OF_ANSWER = {"sigmoid", "expit"}  # who loses a share of it
NEVER_ZERO = {"softplus", "log_sigmoid"}
LOWEST = {"tanh": near_one, "expm1": near_one, "elu": alpha, "celu": alpha, "selu": FORMULAS["selu"]}  # times -1
HIGHEST = {"tanh": 1.0, "sigmoid": 1.0, "expit": 1.0, "softmax": 1.0, "softmin": 1.0, "log_softmax": 0.0}


class Rounding(Exact):
    """In fp64, but for what formulas lose. `seed`: another one moves by other shares."""

    def __init__(self, seed):
        super().__init__()
        self.seed = seed

    def __torch_function__(self, function, types, args=(), kwargs=None):
        name, kwargs = getattr(function, "__name__", "").removesuffix("_").removeprefix("special_"), dict(kwargs or {})
        if not args and "input" in kwargs:
            args = (kwargs.pop("input"),)
        given = args and isinstance(args[0], torch.Tensor)
        size = FORMULAS[name](args, kwargs) if given and name in FORMULAS else None
        lowest = -LOWEST[name](args, kwargs) if given and name in LOWEST else -math.inf
        answer = super().__torch_function__(function, types, args, kwargs)
        if not given or not isinstance(answer, torch.Tensor) or answer.dtype != torch.float64:
            return answer
        if name in OF_ANSWER:
            size = answer.abs()
        elif name in oracle_sums.ALL:
            size = oracle_sums.lost(name, args, kwargs, answer) / LOST
        elif function in oracle_sums.NORMALISERS:
            off = oracle_sums.lost_in_normalising(function, args, kwargs)
            size = None if off is None else off / LOST
        if size is not None:
            moves = self.shares(answer).mul_(size).nan_to_num_(0.0, 0.0, 0.0)  # what is no number stays what it is
            if name in NEVER_ZERO:
                rest = answer.abs().mul_(MOST_OF_REST)
                moves = torch.minimum(torch.maximum(moves, -rest), rest)
            answer.add_(moves)
            if name in LOWEST or name in HIGHEST:
                answer.clamp_(lowest, HIGHEST.get(name, math.inf))
        return answer

    def shares(self, answer):
        """Of each element by its bits: of either sign, between half of LOST and all of it."""
        mixed = (answer.view(torch.int64) ^ self.seed).mul_(MULTIPLIER).bitwise_right_shift_(64 - SIGNED_BITS)
        share = mixed.double().mul_(2.0**-SIGNED_BITS)  # in [-1/2, 1/2)
        return share.add_(torch.where(mixed < 0, -0.5, 0.5)).mul_(LOST)
