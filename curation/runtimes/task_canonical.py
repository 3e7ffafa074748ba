"""A task's inputs and parameters in canonical sizes and values: functions that are equal, shapes aside, answer equally there."""
import copy

import torch

from task_reference import is_tensor

SIZES = (12, 20, 28, 36, 44, 52, 60, 68)
MOST_ELEMENTS = 1 << 22


class Sizes:
    """Gives sizes their canonical ones, in the order in which they are met."""

    def __init__(self):
        self.known = {}

    def of(self, key):
        if key not in self.known:
            if len(self.known) == len(SIZES):
                raise NoCanonicalForm
            self.known[key] = SIZES[len(self.known)]
        return self.known[key]


class NoCanonicalForm(Exception):
    """There are too many sizes, or too large tensors."""


def resizings():
    """Ways to name the axes of inputs, each a function (number of the input, axis, size) -> name; None: the size stays.
    The first: equal sizes stay equal and ones stay ones. The second: a batch of one is any batch. The third, for tasks of one
    input: every axis has a size of its own."""
    return [lambda i, axis, size: None if size == 1 else size,
            lambda i, axis, size: "batch" if size == 1 and axis == 0 else None if size == 1 else size,
            lambda i, axis, size: (i, axis)]


def canonical_forms(model, leaves):
    """(alternatives of inputs, model) of each. An alternative is for models that do not take those before it."""
    has_buffers = any(True for _ in model.buffers())
    has_parameters = any(True for _ in model.parameters())
    is_shared = len(list(model.named_parameters(remove_duplicate=False))) > len(list(model.parameters()))
    if has_parameters and (has_buffers or is_shared):
        return  # neither a table whose values mean something nor a shared parameter can be resized
    one_input = sum(is_tensor(x) and x.dim() > 0 for x in leaves) == 1
    for number, name_of in enumerate(resizings()):
        if number == 2 and (has_parameters or not one_input):
            continue
        try:
            sizes = Sizes()
            shapes = [resized(x, i, name_of, sizes) for i, x in enumerate(leaves)]
            other = resized_model(model, sizes) if has_parameters else model
        except NoCanonicalForm:
            continue
        yield [[x if shape is None else values(x, shape, i) for i, (x, shape) in enumerate(zip(leaves, shapes))]
               for values in (spread, in_range)], other


def resized(x, i, name_of, sizes):
    if not is_tensor(x) or x.dim() == 0 or x.numel() == 0:
        return None
    names = [name_of(i, axis, size) for axis, size in enumerate(x.shape)]
    return checked([size if name is None else sizes.of(name) for name, size in zip(names, x.shape)])


def checked(shape):
    if torch.Size(shape).numel() > MOST_ELEMENTS:
        raise NoCanonicalForm
    return shape


def resized_model(model, sizes):
    """With parameters in the sizes of the inputs and, behind those, of their own. A kernel's extent stays."""
    other = copy.deepcopy(model)
    for module in other.modules():
        for name, parameter in list(module._parameters.items()):
            if parameter is not None:
                module._parameters[name] = resized_parameter(parameter, sizes)
        if isinstance(getattr(module, "normalized_shape", None), tuple):
            module.normalized_shape = tuple(sizes.of(size) for size in module.normalized_shape)
    return other


def resized_parameter(parameter, sizes):
    if not parameter.is_floating_point():
        raise NoCanonicalForm
    shape = [size if size == 1 or axis > 1 else sizes.of(size) for axis, size in enumerate(parameter.shape)]
    return torch.nn.Parameter(torch.zeros(checked(shape), dtype=parameter.dtype), requires_grad=False)


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
