"""Records the operators that a forward pass runs, below autograd, and can answer for one of them."""
import sys

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

# Operators that move values or make new ones of none: no work whose loss could be missed.
MOVES = {"clone", "_to_copy", "contiguous", "copy_", "copy", "lift_fresh", "lift_fresh_copy", "detach", "detach_", "_unsafe_view",
         "cat", "stack", "repeat", "fill_", "zero_", "_local_scalar_dense", "resize_", "set_", "_reshape_alias", "_reshape_copy",
         "scalar_tensor", "item", "rand", "randn", "randint", "randperm", "arange", "linspace", "eye", "full", "zeros", "ones", "empty",
         "empty_strided", "triu_indices", "tril_indices", "_efficientzerotensor", "alias", "expand_copy", "resolve_conj", "pin_memory"}
# They ask for a tensor's shape, not for its values.
SHAPE_ONLY = {"zeros_like", "ones_like", "full_like", "empty_like", "rand_like", "randn_like", "randint_like", "new_zeros", "new_ones",
              "new_full", "new_empty", "new_empty_strided"}


def name_of(func):
    return func._schema.name.split("::")[-1]


def writes_in_place(func):
    arguments = func._schema.arguments
    return bool(arguments) and any(a.alias_info is not None and a.alias_info.is_write for a in arguments)


def is_view(func):
    return any(r.alias_info is not None and not r.alias_info.is_write for r in func._schema.returns)


def tensors_of(value):
    return [x for x in pytree.tree_flatten(value)[0] if isinstance(x, torch.Tensor)]


def call_site(last):
    """Where the code calls an operator: every frame's instruction from the operator up to the function `last`, and the modules
    on the way. All rounds of a loop call it from one site; layers of a Sequential have sites of their own."""
    site, frame = [], sys._getframe(2)
    while frame is not None and frame.f_code is not last:
        site.append((id(frame.f_code), frame.f_lasti))
        if frame.f_code is MODULE_CALL:
            site.append(id(frame.f_locals["self"]))
        frame = frame.f_back
    return tuple(site)


MODULE_CALL = torch.nn.Module._call_impl.__code__


class Operator:
    """One call: what it is, and snapshots of its outputs."""

    def __init__(self, func, tainted, candidates, outputs, producers, site, ancestors, taken):
        self.func = func
        self.name = name_of(func)
        self.tainted = tainted  # depends on the values of a source
        self.candidates = candidates  # places in the flat arguments that could stand for the first output
        self.outputs = outputs
        self.producers = producers  # names of what made each candidate
        self.site = site
        self.ancestors = ancestors  # bit i: its arguments depend on call i
        self.taken = taken  # shape of its first tensor

    @property
    def is_work(self):
        return self.name not in MOVES and self.name not in SHAPE_ONLY and not is_view(self.func)


def storage_of(x):
    """What tensors of the same memory have in common."""
    try:
        return x.untyped_storage()._cdata
    except (RuntimeError, NotImplementedError):
        return id(x)


class Recorder(TorchDispatchMode):
    """`stand_in(number, func, flat_args, outputs)` may return other outputs for an operator's call."""

    def __init__(self, sources, stand_in=None, keep_values=True, caller=None):
        super().__init__()
        self.caller = caller  # code of the function that runs the module: sites are looked for up to it
        self.operators = []
        self.stand_in = stand_in
        self.keep_values = keep_values
        self.kept = list(sources)  # so that no id is used twice
        self.tainted = {id(x) for x in sources}
        self.tainted_storages = {storage_of(x) for x in sources}
        self.made_by = {}
        self.depends_on = {}
        self.calls = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        number = self.calls
        self.calls += 1
        flat = pytree.tree_flatten((args, kwargs))[0]
        own = [x for x in flat if isinstance(x, torch.Tensor)]
        in_place = writes_in_place(func)
        before = [x.detach().clone() if in_place and isinstance(x, torch.Tensor) and self.stand_in else None for x in flat]
        result = func(*args, **kwargs)
        name = name_of(func)
        tainted = name not in SHAPE_ONLY and any(id(x) in self.tainted or storage_of(x) in self.tainted_storages for x in own)
        if self.stand_in:
            result = self.stand_in(number, func, flat if not in_place else before, result)
        outputs = tensors_of(result)
        self.kept.extend(outputs)
        self.kept.extend(own)
        if tainted:
            self.tainted.update(id(x) for x in outputs)
            self.tainted_storages.update(storage_of(x) for x in outputs)
        first = outputs[0] if outputs else None
        candidates = []
        if first is not None and first.is_floating_point():
            candidates = [i for i, x in enumerate(flat) if isinstance(x, torch.Tensor) and x.is_floating_point() and
                          x.numel() == first.numel() and x.numel() > 0]
        producers = [self.made_by.get(id(flat[i]), "") for i in candidates]
        ancestors = 0
        for x in own:
            ancestors |= self.depends_on.get(id(x), 0)
        for x in outputs:
            self.made_by[id(x)] = name
            self.depends_on[id(x)] = ancestors | 1 << number
        kept = [x.detach().clone() for x in outputs] if self.keep_values else []
        site = call_site(self.caller) if self.caller else ()
        self.operators.append(Operator(func, tainted, candidates, kept, producers, site, ancestors, own[0].shape if own else None))
        return result
