"""Fingerprints of the function that a reference computes: equal ones mean equal functions, shapes aside. Of three kinds:
the operators below their decompositions, the answers on its own shapes, and the answers on canonical shapes."""
import copy
import hashlib
import time

import torch
from torch._decomp import core_aten_decompositions
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from task_canonical import canonical_forms, spread
from task_recorder import is_view, name_of, storage_of, tensors_of, writes_in_place
from task_reference import Raises, Reference, copied, differs, is_tensor

MOST_ELEMENTS = 1 << 24
DIGITS = 8
PLACES = 256  # of the inputs on which a function of each place alone is compared
MOST_AXES = 8
# Arguments that say how large something is, not what is done.
SIZES = {"size", "shape", "normalized_shape", "sizes", "self_size", "input_sizes", "stride", "repeats"}
SIZED = {"view", "reshape", "expand", "_unsafe_view", "_reshape_alias", "empty", "zeros", "ones", "full", "new_zeros", "new_ones", "new_full",
         "new_empty", "native_layer_norm", "native_group_norm", "empty_strided", "new_empty_strided", "unsafe_split"}
AXES = {"dim", "dims", "dim0", "dim1", "start_dim", "end_dim"}
COMMUTE = {"add", "mul", "maximum", "minimum", "eq", "ne", "logical_and", "logical_or"}
PLAIN = {"detach", "alias", "lift_fresh", "lift_fresh_copy", "clone", "_to_copy", "contiguous"}  # the value is the argument's
_decompositions = None


def decompositions():
    global _decompositions
    if _decompositions is None:
        _decompositions = dict(core_aten_decompositions())
    return _decompositions


def digest(*parts):
    return hashlib.sha256("\x1f".join(str(p) for p in parts).encode()).hexdigest()[:24]


class UnknownValues(Exception):
    """A tensor without data takes part whose values matter."""


def held_by(reference, model):
    """Tensors with values of their own, by place: buffers, and constants of modules and of the code."""
    found = {("", name): x for name, x in reference.names.items() if is_tensor(x)}
    for place, module in model.named_modules():
        found.update({(place, name): x for name, x in {**vars(module), **module._buffers}.items() if is_tensor(x)})
    return found


def values_held(code):
    """Digests of the values of these; None for random ones, which another seed makes otherwise."""
    def under(seed):
        reference = Reference(code, seed)
        return {place: by_values(x) for place, x in held_by(reference, reference.model).items()}

    one, other = under(7), under(8)
    return {place: value if other.get(place) == value else None for place, value in one.items()}


def by_values(x):
    """The shape counts where values differ: it is no size of inputs then."""
    if x.is_meta:
        raise UnknownValues
    x = torch.nan_to_num(x.detach() if x.is_complex() else x.detach().double(), 12345.0, 54321.0, -54321.0)
    flat = x.reshape(-1)
    if flat.numel() and not x.is_complex() and bool((flat == flat[0]).all()):
        return digest("uniform", x.dim(), rounded(flat[0]))
    return by_answers([x])


class Graph(TorchDispatchMode):
    """Gives every tensor a hash of how it was computed. `values`: of tensors that the task holds, as values_held() has them."""

    def __init__(self, leaves, reference, model, values):
        super().__init__()
        self.kept, self.own, self.epochs = [], {}, {}
        for i, x in enumerate(leaves):
            if is_tensor(x):
                self.remember(x, digest("input", i, x.dtype))
        held = held_by(reference, model)
        random = [x for place, x in held.items() if place in values and values[place] is None]
        self.parameters = {id(p): None for p in list(model.parameters()) + random}
        self.kept.extend(list(model.parameters()) + list(held.values()))
        for place, x in held.items():
            if values.get(place) is not None:
                self.remember(x, digest("constant", values[place]))

    def remember(self, x, value):
        self.kept.append(x)
        self.own[id(x)] = (value, self.epochs.get(storage_of(x), ""))

    def hash_of(self, x):
        if id(x) not in self.own:
            if id(x) in self.parameters:  # named by the order of their use
                if self.parameters[id(x)] is None:
                    self.parameters[id(x)] = sum(v is not None for v in self.parameters.values())
                self.remember(x, digest("parameter", self.parameters[id(x)], x.dim()))
            elif x.dim() == 0 and x.device.type != "meta":
                self.remember(x, digest("number", float(x)))
            else:
                self.remember(x, digest("constant", by_values(x)))
        value, epoch = self.own[id(x)]
        now = self.epochs.get(storage_of(x), "")
        return value if now == epoch else digest(value, now)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func in decompositions() and name_of(func) not in PLAIN:
            with self:
                result = decompositions()[func](*args, **kwargs)
            if result is not NotImplemented:
                return result
        named = self.described(func, args, kwargs)
        result = func(*args, **kwargs)
        name = name_of(func)
        value = digest(func._schema.name.rstrip("_"), named)
        if writes_in_place(func):
            target = next((x for x in tensors_of(args)), None)
            if target is not None:
                self.epochs[storage_of(target)] = value
            for x in tensors_of(result):
                self.remember(x, value)
            return result
        outputs = tensors_of(result)
        plain = name in PLAIN and outputs and is_tensor(args[0])
        plain = plain or (is_view(func) and name == "expand" and outputs and outputs[0].shape == args[0].shape)
        for i, x in enumerate(outputs):
            self.remember(x, self.hash_of(args[0]) if plain else digest(value, i))
        return result

    def described(self, func, args, kwargs):
        name = name_of(func)
        first = next(iter(tensors_of(args)), None)
        parts = []
        for argument, value in zip(func._schema.arguments, args):
            parts.append((argument.name, self.part(name, argument.name, value, first)))
        schema = {a.name: a for a in func._schema.arguments}
        for key, value in sorted(kwargs.items()):
            if key not in ("dtype", "layout", "device", "pin_memory", "memory_format"):
                parts.append((key, self.part(name, key, value, first)))
        given = {key for key, _ in parts}
        for key, argument in schema.items():  # a default that is written down is the same
            if key not in given and argument.has_default_value() and key not in ("dtype", "layout", "device", "pin_memory", "memory_format"):
                parts.append((key, self.part(name, key, argument.default_value, first)))
        if name in COMMUTE and len(parts) >= 2:
            two = sorted(str(p[1]) for p in parts[:2])
            return str(two) + str(sorted(map(str, parts[2:])))
        return str(sorted(map(str, parts)))

    def part(self, name, key, value, first):
        if is_tensor(value):
            return self.hash_of(value)
        if key in SIZES and name in SIZED or name in ("native_group_norm",) and key in ("N", "C", "HxW"):
            return "*"
        if isinstance(value, (list, tuple)):
            return [self.part(name, key, x, first) for x in value]
        if key in AXES and isinstance(value, int) and value >= 0 and first is not None:
            return float(value - max(first.dim(), 1))
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return float(value)
        return repr(value)


def by_operators(reference, model, leaves, spec, values):
    model = copy.deepcopy(model)
    leaves = [copied(x) for x in leaves]
    graph = Graph(leaves, reference, model, values)
    torch.manual_seed(3)
    with torch.no_grad(), graph:
        returned = model(*pytree.tree_unflatten(leaves, spec))
        outputs = [graph.hash_of(x) for x in pytree.tree_flatten(returned)[0] if is_tensor(x)]
    return digest("operators", *outputs)


def rounded(x):
    return f"{float(x):.{DIGITS - 1}e}"


def by_answers(outputs):
    parts = []
    for x in outputs:
        flat = x.double().reshape(-1) if not x.is_complex() else torch.view_as_real(x).double().reshape(-1)
        generator = torch.Generator().manual_seed(17)
        for _ in range(2):
            weights = torch.rand(flat.shape, generator=generator, dtype=torch.float64) + 0.5
            parts.append(rounded((flat * weights).sum()) if float(flat.abs().max() if flat.numel() else 0) > 1e-12 else "0")
        parts.append(tuple(x.shape))
    return digest("answers", *parts)


def filled(model):
    """A copy whose parameters depend on their shapes and order alone."""
    model = copy.deepcopy(model)
    with torch.no_grad():
        for i, parameter in enumerate(model.parameters()):
            if parameter.is_floating_point():
                values = torch.rand(parameter.shape, generator=torch.Generator().manual_seed(300 + i), dtype=torch.float64)
                fan = max(1, parameter[0].numel() if parameter.dim() > 1 else 1)
                parameter.copy_((values - 0.3) / fan ** 0.5)
    return model


def on_canonical_shapes(reference, model, spec, leaves, ends):
    """Of each form that the model takes and answers finitely."""
    found = []
    for alternatives in canonical_forms(reference, model, leaves):
        for inputs, other in alternatives:
            if time.process_time() > ends:
                return found
            try:
                answers = reference.run(inputs, spec, filled(other))
            except Raises:
                continue
            if all(bool(torch.isfinite(x).all()) for x in answers):
                found.append(by_answers(answers) + "c")
                break
    return found


def element_by_element(reference, model, spec, leaves):
    """Of a function of each place alone, on inputs of one axis; nothing for others."""
    tensors = [x for x in leaves if is_tensor(x) and x.dim() > 0]
    if not tensors or tensors[0].dim() > MOST_AXES or any(x.shape != tensors[0].shape for x in tensors):
        return []
    if any(x.numel() > 1 for x in [*model.parameters(), *model.buffers()]):
        return []
    flat = [spread(x, (PLACES,), i) if is_tensor(x) and x.dim() > 0 else x for i, x in enumerate(leaves)]
    shape = (2,) * max(tensors[0].dim() - 1, 1) + (-1,)
    shaped = [x.reshape(shape) if is_tensor(x) and x.dim() > 0 else x for x in flat]
    try:
        answers, others = [reference.run(inputs, spec, filled(model)) for inputs in (flat, shaped)]
    except Raises:
        return []
    tensors = [x for x in shaped if is_tensor(x) and x.dim() > 0]
    is_such = all(y.shape == tensors[0].shape for y in others) and all(bool(torch.isfinite(x).all()) for x in answers)
    if not is_such or differs(answers, [y.reshape(-1) for y in others], 1e-9):
        return []
    return [by_answers(answers) + "e"]


def fingerprints(examination):
    found = []
    reference, model, spec = examination.reference, examination.model, examination.spec
    leaves = examination.wide_inputs[0]
    try:
        values = values_held(reference.code) if held_by(reference, model) else {}
        found.append(by_operators(reference, model, leaves, spec, values))
    except Exception:  # noqa: BLE001: some code cannot be followed
        pass
    if sum(x.numel() for x in leaves if is_tensor(x)) > MOST_ELEMENTS or "constant_output" in examination.found:
        return found
    if examination.rounding > 1e-8:  # in fp32 the last digits are rounding's
        return found
    try:
        found.append(by_answers(reference.run(leaves, spec, filled(model))))
    except Raises:
        pass
    found += element_by_element(reference, model, spec, leaves)
    return found + on_canonical_shapes(reference, model, spec, leaves, examination.ends)


def read_function(code, shapes):
    """{"function": fingerprint}, found without data but for what the task holds, so that large inputs cost nothing; {} if the code
    cannot be followed so, or a tensor takes part whose values are not known."""
    try:
        with torch.device("meta"):
            reference = Reference(code)
        values = values_held(code) if held_by(reference, reference.model) else {}
        with torch.device("meta"):
            leaves, spec = reference.inputs(1)
            found = by_operators(reference, reference.model, leaves, spec, values)
    except Exception:  # noqa: BLE001: not every module works without data
        return {}
    if not shapes:
        return {"function": found}
    sizes = [tuple(x.shape) for x in leaves if is_tensor(x)], sorted(tuple(x.shape) for x in reference.model.parameters())
    return {"function": digest(found, *sizes)}
