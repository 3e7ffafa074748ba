"""Arguments of a model's constructor, sent as values: a candidate's process makes its model of the same ones as the
reference's, and never sees the text that they come from.

pack(value, blobs) gives a spec and adds the bytes of tensors to `blobs`; unpack(spec, blobs) is its inverse.
"""
import ctypes

import torch


class Unsendable(Exception):
    """Names the type that cannot be sent."""


def pack(value, blobs):
    if value is None or isinstance(value, (bool, str)):
        return {"t": "plain", "v": value}
    if isinstance(value, int):
        return {"t": "int", "v": str(int(value))}
    if isinstance(value, float):
        return {"t": "float", "v": float(value).hex()}
    if isinstance(value, torch.Tensor):
        if value.is_sparse or value.is_quantized or value.is_complex():
            raise Unsendable(f"tensors of {value.layout}, {value.dtype}")
        flat = value.detach().cpu().contiguous()
        blobs.append(ctypes.string_at(flat.data_ptr(), flat.numel() * flat.element_size()) if flat.numel() else b"")
        return {"t": "tensor", "dtype": _name(value.dtype), "shape": list(value.shape), "blob": len(blobs) - 1,
                "parameter": isinstance(value, torch.nn.Parameter)}
    if isinstance(value, torch.dtype):
        return {"t": "dtype", "v": _name(value)}
    if isinstance(value, torch.device):
        return {"t": "device", "v": str(value)}
    for kind in (list, tuple):
        if isinstance(value, kind):
            return {"t": kind.__name__, "items": [pack(item, blobs) for item in value]}
    if isinstance(value, dict):
        return {"t": "dict", "items": [[pack(key, blobs), pack(item, blobs)] for key, item in value.items()]}
    if hasattr(value, "dtype") and hasattr(value, "item") and getattr(value, "shape", None) == ():
        return pack(value.item(), blobs)  # a scalar of NumPy
    raise Unsendable(f"{type(value).__module__}.{type(value).__qualname__}")


def unpack(spec, blobs):
    kind = spec["t"]
    if kind == "int":
        return int(spec["v"])
    if kind == "float":
        return float.fromhex(spec["v"])
    if kind == "tensor":
        dtype, blob = getattr(torch, spec["dtype"]), blobs[spec["blob"]]
        flat = torch.frombuffer(bytearray(blob), dtype=dtype) if blob else torch.empty(0, dtype=dtype)
        tensor = flat.reshape(spec["shape"])
        return torch.nn.Parameter(tensor, requires_grad=dtype.is_floating_point) if spec["parameter"] else tensor
    if kind == "dtype":
        return getattr(torch, spec["v"])
    if kind == "device":
        return torch.device(spec["v"])
    if kind in ("list", "tuple"):
        items = [unpack(item, blobs) for item in spec["items"]]
        return items if kind == "list" else tuple(items)
    if kind == "dict":
        return {unpack(key, blobs): unpack(item, blobs) for key, item in spec["items"]}
    return spec["v"]


def _name(dtype):
    return str(dtype).removeprefix("torch.")
