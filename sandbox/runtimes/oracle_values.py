"""Values that tasks pass around: tensors in nested lists, tuples and dicts, as the oracle describes and sends them."""
import contextlib
import ctypes

import torch
from torch.overrides import TorchFunctionMode


# Types that the whole sandbox knows. PyTorch computes nothing in the 8-bit floats: they are read as float32.
FLOAT8 = (torch.float8_e4m3fn, torch.float8_e5m2)
KNOWN = (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.uint8, torch.int8, torch.int16, torch.int32,
         torch.int64, torch.bool, *FLOAT8)


class InvalidTask(Exception):
    """The task itself is invalid. `kind` is for programs, the message for people."""

    def __init__(self, kind, message):
        super().__init__(message)
        self.kind = kind


class OnDevice(TorchFunctionMode):
    """Task texts that name a GPU run where this process runs references."""

    device = "cpu"

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        name = getattr(function, "__name__", "")
        if name == "cuda" and args and isinstance(args[0], torch.Tensor):
            return args[0] if self.device == "cpu" else args[0].to(self.device)
        if "device" in kwargs and _names_gpu(kwargs["device"]):
            kwargs["device"] = self.device
        if name == "to":
            args = tuple(self.device if _names_gpu(a) else a for a in args)
        return function(*args, **kwargs)


@contextlib.contextmanager
def running_on(device):
    """Meanwhile references run there, and what names no device is made there."""
    before, OnDevice.device = OnDevice.device, str(device)
    try:
        with torch.device(device):
            yield
    finally:
        OnDevice.device = before


def _names_gpu(value):
    return (isinstance(value, str) and value.startswith("cuda")) or (
        isinstance(value, torch.device) and value.type == "cuda")


def leaves(value):
    """Tensors of a value in depth-first order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in leaves(item)]
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in leaves(item)]
    return []


def rebuild(value, change):
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, (list, tuple)):
        items = [rebuild(item, change) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, dict):
        return {key: rebuild(item, change) for key, item in value.items()}
    return value


def with_leaves(value, tensors):
    """The value with its tensors replaced, in depth-first order."""
    rest = iter(tensors)
    return rebuild(value, lambda _: next(rest))


def clone(value):
    return rebuild(value, lambda x: x.detach().clone())


def readable(tensor):
    """The same values in a type that PyTorch computes in."""
    return tensor.float() if tensor.dtype in FLOAT8 else tensor


def readable_leaves(value):
    return [readable(leaf) for leaf in leaves(value)]


def like_strides(values, tensor):
    """`values` laid out as `tensor`, and in its type."""
    if tensor.dtype in FLOAT8:  # what is beyond its range would be no number
        most = torch.finfo(tensor.dtype).max
        values = values.clamp(-most, most)
    if tensor.is_contiguous():
        return values.to(tensor.dtype).contiguous()
    return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype).copy_(values)


def same(a, b):
    a, b = readable_leaves(a), readable_leaves(b)
    return len(a) == len(b) and all(x.shape == y.shape and (torch.equal(x, y) or torch.allclose(
        x.double() if not x.is_complex() else x, y.double() if not y.is_complex() else y, rtol=1e-4, atol=1e-5,
        equal_nan=True)) for x, y in zip(a, b))


def check_types(value):
    for leaf in leaves(value):
        if leaf.dtype not in KNOWN or leaf.layout != torch.strided:
            kind = leaf.dtype if leaf.layout == torch.strided else f"{leaf.layout}, {leaf.dtype}"
            raise InvalidTask("unsupported_type", f"tensors of {kind} are not supported")


def describe(value):
    if isinstance(value, torch.Tensor):
        check_types(value)
        return {"t": "tensor", "shape": list(value.shape), "strides": list(value.stride()),
                "dtype": str(value.dtype).removeprefix("torch.")}
    if value is None:
        return {"t": "none"}
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return {"t": kind.__name__, "v": value}
    if isinstance(value, (list, tuple)):
        return {"t": "list" if isinstance(value, list) else "tuple", "items": [describe(item) for item in value]}
    if isinstance(value, dict):
        return {"t": "dict", "keys": list(map(str, value)), "items": [describe(item) for item in value.values()]}
    raise InvalidTask("unsupported_type", f"values of type {type(value).__name__} are not supported")


def span_bytes(tensor):
    if tensor.numel() == 0:
        return 0
    last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride()))
    return (last + 1) * tensor.element_size()


def raw(tensor):
    """The storage from the first to the last element, gaps included."""
    return ctypes.string_at(tensor.detach().data_ptr(), span_bytes(tensor)) if tensor.numel() else b""
