"""A task's inputs and parameters in canonical sizes and values: functions that are equal, shapes aside, answer equally there."""
import copy

import torch
from torch.utils import _pytree as pytree

from task_reference import Raises, is_tensor

SIZES = (12, 20, 28, 36, 44, 52, 60, 68)
MOST_ELEMENTS = 1 << 22


class Sizes:
    """Gives sizes their canonical ones, in the order in which they are met."""

    def __init__(self, names=None):
        self.known = {}
        self.names = names or {}  # of an input's axes, by their sizes: a parameter's size is that of the axis

    def of(self, key):
        if key not in self.known:
            if len(self.known) == len(SIZES):
                raise NoCanonicalForm
            self.known[key] = SIZES[len(self.known)]
        return self.known[key]

    def of_parameter(self, size):
        return self.of(self.names.get(size, size))


class NoCanonicalForm(Exception):
    """There are too many sizes, or too large tensors."""


def resizings():
    """Ways to name the axes of inputs, each a function (number of the input, axis, size) -> name; None: the size stays.
    The first: equal sizes stay equal and ones stay ones. The second: a batch of one is any batch. The third, for tasks of one
    input: every axis has a size of its own."""
    return [lambda i, axis, size: None if size == 1 else size,
            lambda i, axis, size: "batch" if size == 1 and axis == 0 else None if size == 1 else size,
            lambda i, axis, size: (i, axis)]


def canonical_forms(reference, model, leaves):
    """Alternatives (inputs, model) of each. An alternative is for models that do not take those before it."""
    one_input = sum(is_tensor(x) and x.dim() > 0 for x in leaves) == 1
    has_parameters, has_buffers = any(True for _ in model.parameters()), any(True for _ in model.buffers())
    for number, name_of in enumerate(resizings()):
        if number < 2 or one_input:
            yield alternatives(leaves, name_of, [(names, lambda sizes, every=every: by_parameters(model, leaves, sizes, every))
                                                 for names, every in parameter_sizes(number, leaves, has_parameters)])
        if number < 2 and (has_parameters or has_buffers):
            yield alternatives(leaves, name_of, [({}, lambda sizes: by_arguments(reference, model, leaves, sizes))])


def alternatives(leaves, name_of, resizers):
    found = []
    for names, resize in resizers:
        try:
            sizes = Sizes(names)
            shapes = [resized(x, i, name_of, sizes) for i, x in enumerate(leaves)]
            other = resize(sizes)
        except (NoCanonicalForm, Raises):
            continue
        for values in (spread, in_range):
            found.append(([x if shape is None else values(x, shape, i) for i, (x, shape) in enumerate(zip(leaves, shapes))], other))
    return found


def parameter_sizes(number, leaves, has_parameters):
    """(names of axes by size, whether a parameter's third axis and those behind it are resized): a kernel's extent stays, a
    matrix for each output does not. Where axes of one size have different names, it is the last or the second that a
    parameter means."""
    if not has_parameters:
        return [({}, False)]
    if number < 2:
        return [({}, False), ({}, True)]
    i, x = next((i, x) for i, x in enumerate(leaves) if is_tensor(x) and x.dim() > 0)
    last = {size: (i, axis) for axis, size in enumerate(x.shape)}
    second = {**last, x.shape[1]: (i, 1)} if x.dim() > 1 else last
    return [(names, every) for every in (False, True) for names in ([last] if second == last else [last, second])]


def resized(x, i, name_of, sizes):
    if not is_tensor(x) or x.dim() == 0 or x.numel() == 0:
        return None
    names = [name_of(i, axis, size) for axis, size in enumerate(x.shape)]
    return checked([size if name is None else sizes.of(name) for name, size in zip(names, x.shape)])


def checked(shape):
    if torch.Size(shape).numel() > MOST_ELEMENTS:
        raise NoCanonicalForm
    return shape


def by_parameters(model, leaves, sizes, all_axes):
    """With parameters in the sizes of the inputs and, behind those, of their own."""
    names = list(model.named_parameters(remove_duplicate=False))
    if names and (any(True for _ in model.buffers()) or len(names) > len(list(model.parameters()))):
        raise NoCanonicalForm  # neither a table whose values mean something nor a shared parameter can be resized
    if not names:
        return model
    of_inputs = {size for x in leaves if is_tensor(x) for size in x.shape}
    other = copy.deepcopy(model)
    for module in other.modules():
        for name, parameter in list(module._parameters.items()):
            if parameter is not None:
                module._parameters[name] = resized_parameter(parameter, sizes, of_inputs if all_axes else ())
        if isinstance(getattr(module, "normalized_shape", None), tuple):
            module.normalized_shape = tuple(sizes.of_parameter(size) for size in module.normalized_shape)
    return other


def resized_parameter(parameter, sizes, of_inputs):
    if not parameter.is_floating_point():
        raise NoCanonicalForm
    shape = [size if size == 1 or axis > 1 and size not in of_inputs else sizes.of_parameter(size)
             for axis, size in enumerate(parameter.shape)]
    return torch.nn.Parameter(torch.zeros(checked(shape), dtype=parameter.dtype), requires_grad=False)


def by_arguments(reference, model, leaves, sizes):
    """Built anew with other numbers where one is the size of an input or a parameter, so that tables have other sizes, too.
    Such a number is seldom that of a batch."""
    held = [*model.parameters(), *model.buffers()]
    of_inputs = {size for x in leaves if is_tensor(x) for size in x.shape[x.dim() > 1:]}
    known = of_inputs | {size for x in held for size in x.shape[:2]}
    kernels = {size for x in held if x.dim() > 2 for size in x.shape[2:]}
    arguments, spec = pytree.tree_flatten(reference.init_inputs)
    chosen = [type(x) is int and x > 1 and x in known for x in arguments]
    if not any(chosen) or any(x in kernels for x, is_size in zip(arguments, chosen) if is_size):
        raise NoCanonicalForm
    arguments = [sizes.of(x) if is_size else x for x, is_size in zip(arguments, chosen)]
    usual = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)  # a table is the same in whatever way it is computed
    try:
        other = reference.build(pytree.tree_unflatten(arguments, spec)).double()
    finally:
        torch.set_default_dtype(usual)
    for x in [*other.parameters(), *other.buffers()]:
        checked(x.shape)
    return other.train(model.training)


def generator_of(i):
    return torch.Generator().manual_seed(400 + i)


def spread(x, shape, i):
    """Values of both signs, most of them small and some up to 10: a bound far out shows, too."""
    if not x.is_floating_point():
        return in_range(x, shape, i)
    return ((torch.rand(shape, generator=generator_of(i), dtype=torch.float64) * 2 - 1) ** 3 * 10).to(x.dtype)


def in_range(x, shape, i):
    """Values between those that the task's own inputs have."""
    if x.is_floating_point():
        low, high = float(x.min()), float(x.max())
        values = torch.rand(shape, generator=generator_of(i), dtype=torch.float64)
        values = values * 0.9 + 0.05 if low >= 0 and high <= 1 else values + 0.05 if low >= 0 else values * 4 - 2
    elif x.dtype == torch.bool:
        values = torch.rand(shape, generator=generator_of(i)) < 0.5
    else:
        values = torch.randint(0, 4, shape, generator=generator_of(i))
    return values.to(x.dtype)
