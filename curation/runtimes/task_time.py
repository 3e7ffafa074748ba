"""How long a task's reference takes in eager PyTorch: modelled for a device from what its operators move and compute, or measured
here."""
import time

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from task_recorder import is_view, tensors_of
from task_reference import Reference, is_tensor

MEASUREMENTS = 5


class Work(TorchDispatchMode):
    """Adds up the time that a device of such speeds needs for each operator."""

    def __init__(self, clock):
        super().__init__()
        self.bytes_per_ms = clock["bandwidth_gb_s"] * 1e6
        self.operations_per_ms = clock["tflops"] * 1e9
        self.launch_ms = clock["launch_us"] * 1e-3
        self.milliseconds = 0.0
        self.operations = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if is_view(func):
            return result
        count = flop_registry.get(func._overloadpacket)
        operations = count(*args, **(kwargs or {}), out_val=result) if count else 0
        self.operations += operations
        moved = sum(x.numel() * x.element_size() for x in tensors_of((args, kwargs)) + tensors_of(result))
        self.milliseconds += self.launch_ms + max(moved / self.bytes_per_ms, operations / self.operations_per_ms)
        return result


def size_of(tensors):
    return sum(x.numel() * x.element_size() for x in tensors if is_tensor(x))


def milliseconds_of(code, clock):
    """(milliseconds, bytes of inputs, outputs and parameters, operations of arithmetic or 0 if they were not counted)"""
    operations = 0
    if clock["kind"] == "measured":
        reference = Reference(code)
        leaves, spec = reference.inputs(1)
        times = []
        for _ in range(MEASUREMENTS):
            begin = time.perf_counter()
            outputs = reference.run(leaves, spec)
            times.append((time.perf_counter() - begin) * 1e3)
        taken = sorted(times)[MEASUREMENTS // 2]
    else:
        with torch.device("meta"):
            reference = Reference(code)
            leaves, spec = reference.inputs(1)
            work = Work(clock)
            model = reference.model
            with torch.no_grad(), work:
                returned = model(*torch.utils._pytree.tree_unflatten(leaves, spec))
            outputs = tensors_of(returned)
        taken, operations = work.milliseconds, work.operations
    return taken, size_of(leaves) + size_of(outputs) + size_of(reference.model.parameters()), operations
