"""Where a reference decides: rounds, compares, takes the index of the largest. What it decides about its inputs as they
are is exact for everybody: no correct program rounds 2.5 otherwise or takes the second of two equals. What it decides about
results of arithmetic depends on how that rounds."""
import torch
from torch.overrides import TorchFunctionMode

DECIDING = {"round", "floor", "ceil", "trunc", "fix", "frac", "sign", "sgn", "heaviside", "floor_divide", "remainder", "fmod",
            "eq", "ne", "lt", "le", "gt", "ge", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "equal",
            "less", "less_equal", "greater", "greater_equal", "not_equal", "signbit", "isclose",
            "argmax", "argmin", "max", "min", "bucketize", "searchsorted", "int", "long", "short", "char", "byte", "bool",
            "count_nonzero", "nonzero", "logical_not", "logical_and", "logical_or", "logical_xor", "any", "all"}
# Which of several equals they take is said nowhere.
UNDETERMINED = {"sort", "argsort", "topk", "kthvalue", "median", "nanmedian", "mode", "unique", "msort", "multinomial",
                "aminmax", "cummax", "cummin", "unique_consecutive"}


class Decisions(TorchFunctionMode):
    """Use around a forward pass on `tensors`, the inputs and parameters."""

    def __init__(self, tensors):
        super().__init__()
        self.known = {t.untyped_storage().data_ptr() for t in tensors if t.numel()}
        self.some = False
        self.direct = True

    def __torch_function__(self, function, types, args=(), kwargs=None):
        name = getattr(function, "__name__", "").removesuffix("_")
        found = function(*args, **(kwargs or {}))
        decides = name in DECIDING or (name in ("to", "type") and isinstance(found, torch.Tensor)
                                       and not found.is_floating_point())
        if decides:
            self.some = True
            self.direct &= all(self._as_they_are(x) for x in args if isinstance(x, torch.Tensor))
        elif name in UNDETERMINED or "pool" in name and isinstance(found, tuple):
            self.some, self.direct = True, False
        return found

    def _as_they_are(self, x):
        return not x.is_floating_point() or x.untyped_storage().data_ptr() in self.known
