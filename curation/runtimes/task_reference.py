"""A task's reference: its module, its inputs under a seed, and its outputs. Runs the task's code, so only in a box."""
import copy
import random
import sys
import traceback

import torch
from torch.utils import _pytree as pytree


class Raises(Exception):
    """The task's code cannot be built or run; the message says where and why."""


def seed_all(seed):
    torch.manual_seed(seed)
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed % 2**32)


def attempt(what, function, *args):
    try:
        return function(*args)
    except MemoryError:
        raise
    except BaseException as error:  # noqa: B902: a task may raise anything, SystemExit included
        if isinstance(error, RuntimeError) and "allocate memory" in str(error):
            raise MemoryError from None
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == "task"]
        place = f" (line {lines[-1]})" if lines else ""
        raise Raises(f"{what} raises {type(error).__name__}{place}: {str(error)[:200]}") from None


def is_float(x):
    return isinstance(x, torch.Tensor) and x.is_floating_point()


def is_tensor(x):
    return isinstance(x, torch.Tensor)


def wide(x):
    """In the widest type of its kind."""
    return x.double() if is_float(x) else x


def copied(x):
    return x.detach().clone() if is_tensor(x) else x


class Reference:
    def __init__(self, code, init_seed=7):
        self.code = code
        self.names = {"__name__": "task"}
        attempt("the task's code", lambda: exec(compile(code, "task", "exec"), self.names))
        for name in ("Model", "get_inputs"):
            if not callable(self.names.get(name)):
                raise Raises(f"the task's code does not define {name}")
        seed_all(init_seed)
        make = self.names.get("get_init_inputs")
        found = attempt("get_init_inputs()", make) if callable(make) else []
        if not isinstance(found, (list, tuple, dict)):
            raise Raises(f"get_init_inputs() returns {type(found).__name__}, not a list")
        self.init_inputs, self.init_seed = found, init_seed
        self.model = self.build(found)
        if not isinstance(self.model, torch.nn.Module):
            raise Raises("Model is no torch.nn.Module")

    def build(self, init_inputs):
        seed_all(self.init_seed)
        make = self.names["Model"]
        return attempt("Model()", lambda: make(**init_inputs) if isinstance(init_inputs, dict) else make(*init_inputs))

    def inputs(self, seed):
        """(leaves, spec) of what forward() is given."""
        seed_all(seed)
        found = attempt("get_inputs()", self.names["get_inputs"])
        if not isinstance(found, (list, tuple)):
            raise Raises(f"get_inputs() returns {type(found).__name__}, not a list")
        return pytree.tree_flatten(list(found))

    def run(self, leaves, spec, model=None, rng_seed=3):
        """Output tensors in depth-first order. Neither the model nor the inputs are changed."""
        return self.run_again(leaves, spec, copy.deepcopy(self.model if model is None else model), rng_seed)

    @staticmethod
    def run_again(leaves, spec, model, rng_seed=3):
        """As run(), but the model keeps what it remembers of this call."""
        inputs = pytree.tree_unflatten([copied(x) for x in leaves], spec)
        seed_all(rng_seed)
        with torch.no_grad():
            returned = attempt("forward()", model, *inputs)
        outputs = [x.detach() for x in pytree.tree_flatten(returned)[0] if is_tensor(x)]
        if not outputs:
            raise Raises("forward() returns no tensor")
        return outputs


def jittered(model, seed):
    """A copy with other parameters: one that a module sets to zero or one shows its influence only there."""
    model = copy.deepcopy(model)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            if not parameter.is_floating_point() or parameter.is_meta:
                continue
            noise = torch.rand(parameter.shape, generator=generator, dtype=torch.float64).to(parameter.dtype)
            scale = float(parameter.double().std(correction=0)) if parameter.numel() > 1 else 0.0
            scale = max(scale, 0.1 * float(parameter.double().abs().max()) if parameter.numel() else 0.0)
            parameter.mul_(1 + 0.1 * noise).add_((noise - 0.3) * (0.3 * scale if scale > 0 else 0.1))
    return model


def differs(a, b, tolerance):
    """Do two lists of outputs differ by more than rounding?"""
    if len(a) != len(b):
        return True
    for x, y in zip(a, b):
        if x.shape != y.shape or x.dtype != y.dtype:
            return True
        if x.numel() == 0:
            continue
        if not (x.is_floating_point() or x.is_complex()):
            if not torch.equal(x, y):
                return True
            continue
        if not torch.equal(torch.isfinite(x), torch.isfinite(y)):
            return True
        finite = torch.isfinite(x)
        u, v = (x, y) if bool(finite.all()) else (x[finite], y[finite])
        if u.numel() and float((u - v).abs().max()) > tolerance * max(float(u.abs().max()), float(v.abs().max()), 1e-30):
            return True
    return False
