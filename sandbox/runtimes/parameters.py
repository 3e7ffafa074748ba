"""Values for parameters that a constructor leaves at a constant: gains of 1, biases of 0, running statistics. At their
defaults a program that ignores them would be right.

plan(model, seed) lists what is drawn in the reference's model; apply(model, plan) gives a model these values, the
reference's and, in another process, the candidate's. Both are built under the same seed, so random parameters agree
already. A candidate may call its parameters otherwise: see _partners.
"""
import torch

LARGEST_DEFAULT = 1e3  # what is larger is a mask or a sentinel
NORMALISATION_BUFFERS = ("running_mean", "running_var")


def plan(model, seed):
    """Entries {"name", "shape", "value", "seed"} of the constant parameters and normalisation buffers, in order of
    registration. Buffers of other names and parameters that need no gradient are constants of the task."""
    entries = []
    for name, tensor in _registered(model):
        is_parameter = isinstance(tensor, torch.nn.Parameter)
        if is_parameter and not tensor.requires_grad:
            continue
        if not is_parameter and _last_word(name) not in NORMALISATION_BUFFERS:
            continue
        value = _constant(tensor)
        if value is not None and abs(value) <= LARGEST_DEFAULT:
            entries.append({"name": name, "shape": list(tensor.shape), "value": value,
                            "seed": (seed + 7919 * (len(entries) + 1)) % 2**31})
    return entries


def apply(model, entries):
    if not entries or not isinstance(model, torch.nn.Module):
        return
    with torch.no_grad():
        for entry, tensor in _partners(model, entries):
            tensor.detach().copy_(sampled(entry).reshape(tensor.shape))


def sampled(entry):
    """Around 0: normal of deviation 0.25. Else within half the default of it, so that its sign stays."""
    generator = torch.Generator().manual_seed(entry["seed"])
    shape, value = entry["shape"], entry["value"]
    if value == 0:
        return 0.25 * torch.randn(shape, generator=generator).clamp(-3, 3)
    return value * (0.5 + torch.rand(shape, generator=generator))


def _partners(model, entries):
    """(entry, tensor of the model): by name, with dots and underscores alike (norm.weight, norm_weight) and tensors that
    are plain attributes included; then a parameter that has the same default and as many elements, in order; then
    any tensor of which also the last word of the name agrees."""
    holders = _registered(model) + _attributes(model)
    taken = set()

    def find(entry, agrees):
        for name, tensor in holders:
            if id(tensor) not in taken and tensor.numel() == _numel(entry) and agrees(name, tensor):
                taken.add(id(tensor))
                return tensor
        return None

    found = [find(e, lambda name, _: _plain(name) == _plain(e["name"])) for e in entries]
    for agrees in (lambda e, name, tensor: isinstance(tensor, torch.nn.Parameter),
                   lambda e, name, tensor: _last_word(name) == _last_word(e["name"])):
        for index, entry in enumerate(entries):
            if found[index] is None:
                found[index] = find(entry, lambda name, tensor: agrees(entry, name, tensor)
                                    and _constant(tensor) == entry["value"])
    return [(entry, tensor) for entry, tensor in zip(entries, found) if tensor is not None]


def _registered(model):
    return [(name, tensor) for name, tensor in (*model.named_parameters(), *model.named_buffers())
            if tensor.is_floating_point()]


def _attributes(model):
    return [(f"{prefix}.{name}" if prefix else name, value) for prefix, module in model.named_modules()
            for name, value in vars(module).items()
            if isinstance(value, torch.Tensor) and value.is_floating_point()]


def _constant(tensor):
    """The value that all elements have, or None."""
    if tensor.numel() == 0:
        return None
    tensor = tensor.detach()
    first = tensor.reshape(-1)[0]
    value = float(first)
    return value if value == value and abs(value) != float("inf") and bool((tensor == first).all()) else None


def _plain(name):
    return name.replace(".", "_")


def _last_word(name):
    return name.rsplit(".", 1)[-1]


def _numel(entry):
    count = 1
    for size in entry["shape"]:
        count *= size
    return count
