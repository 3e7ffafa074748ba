"""Runs a task's reference in a box of its own: inputs from secret seeds, what the reference answers, and how long it
takes. Called in a child of the oracle's warm interpreter. No candidate code ever runs in this process.

request   {"kind": "task", "task_code", "init_seed", "draw_seeds": [...], "least_draws", "max_input_bytes",
           "pool_bytes", "shifted": bool}
replies   {"kind": "spec", "inputs": [spec...]}, with "too_large_bytes" if the inputs exceed the limit (then the last)
          {"kind": "draw", "family", "returned": spec, "input_leaves", "reference_error"} + input and output leaves
          {"kind": "done", "eager_ms": [...]}
          {"kind": "fault", "message"}: the task itself is at fault
"""
import copy
import ctypes
import gc
import math
import random
import socket
import time
import traceback

import torch
from torch.overrides import TorchFunctionMode

from frames import receive, say

TIMED_RUNS = 7
TIMED_SECONDS = 0.25
# A draw on which the reference's own rounding uses up this share of the tolerance tests nobody.
UNSTABLE = 0.1


class TaskFault(Exception):
    pass


class OnHost(TorchFunctionMode):
    """Task texts that name a GPU run on the CPU."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        name = getattr(function, "__name__", "")
        if name == "cuda" and args and isinstance(args[0], torch.Tensor):
            return args[0]
        if "device" in kwargs and _names_gpu(kwargs["device"]):
            kwargs["device"] = "cpu"
        if name == "to":
            args = tuple("cpu" if _names_gpu(a) else a for a in args)
        return function(*args, **kwargs)


def _names_gpu(value):
    return (isinstance(value, str) and value.startswith("cuda")) or (
        isinstance(value, torch.device) and value.type == "cuda")


def warm_up():
    """First uses that load code or tables, so that children find them loaded."""
    with torch.no_grad(), OnHost():
        torch.manual_seed(0)
        layer = copy.deepcopy(torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())).double()
        layer(torch.randn(2, 4).double()).softmax(-1).sum()
        torch.nn.functional.conv2d(torch.randn(1, 1, 4, 4), torch.randn(1, 1, 3, 3))
        with torch.device("meta"):
            torch.randn(2, 2)
            torch.randint(0, 2, (2,))
            torch.rand(2)


def run(fd):
    channel = socket.socket(fileno=fd)
    request, _ = receive(channel)
    try:
        with torch.no_grad(), OnHost():
            Reference(channel, request).answer()
    except TaskFault as fault:
        say(channel, {"kind": "fault", "message": str(fault)})
    except MemoryError:
        say(channel, {"kind": "fault", "message": "the reference needs more memory than the oracle's limit"})


def seed_all(seed):
    torch.manual_seed(seed)
    random.seed(seed)
    if "numpy" in __import__("sys").modules:
        __import__("numpy").random.seed(seed % 2**32)


def attempt(what, function, *args):
    """Calls task code; what it raises is the task's fault, in one line."""
    try:
        return function(*args)
    except (MemoryError, TaskFault):
        raise
    except BaseException as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        raise TaskFault(f"{what} raises {type(error).__name__} (line {last.lineno}): {str(error)[:300]}") from None


class Reference:
    def __init__(self, channel, request):
        self.channel = channel
        self.request = request
        self.names = {"__name__": "task"}

    def answer(self):
        text = self.request["task_code"]
        attempt("the task's code", lambda: exec(compile(text, "task", "exec"), self.names))
        for name in ("Model", "get_inputs", "get_init_inputs"):
            if not callable(self.names.get(name)):
                raise TaskFault(f"the task's code does not define {name}")
        if not self.spec():
            return
        model = self.build()
        seeds = self.request["draw_seeds"]
        sent_bytes = largest = 0
        for index, seed in enumerate(seeds):
            if index >= self.request["least_draws"] and sent_bytes + largest > self.request["pool_bytes"]:
                break
            # The second draw, and every fourth after it, is shifted if the task allows it.
            size = self.draw(model, seed, shifted=self.request["shifted"] and index % 4 == 1, first=index == 0)
            sent_bytes += size
            largest = max(largest, size)
        say(self.channel, {"kind": "done", "eager_ms": self.time(model, seeds[0])})

    def inputs(self, seed):
        seed_all(seed)
        inputs = attempt("get_inputs()", self.names["get_inputs"])
        if not isinstance(inputs, (list, tuple)):
            raise TaskFault(f"get_inputs() returns {type(inputs).__name__}, not a list")
        return list(inputs)

    def spec(self):
        """Tells the shapes of the inputs; false if they are too large to draw."""
        seed, limit = self.request["draw_seeds"][0], self.request["max_input_bytes"]
        try:
            with torch.device("meta"):
                imagined = self.inputs(seed)
            size = sum(span_bytes(leaf) for leaf in leaves(imagined))
            if size > limit:
                say(self.channel, {"kind": "spec", "inputs": [describe(x) for x in imagined], "too_large_bytes": size})
                return False
        except TaskFault:
            pass  # not every generator works without data: then the real one is measured
        drawn = self.inputs(seed)
        size = sum(span_bytes(leaf) for leaf in leaves(drawn))
        self.described = [describe(x) for x in drawn]
        say(self.channel, {"kind": "spec", "inputs": self.described, **({"too_large_bytes": size} if size > limit else {})})
        return size <= limit

    def build(self):
        seed = self.request["init_seed"]
        seed_all(seed)
        init = attempt("get_init_inputs()", self.names["get_init_inputs"])
        seed_all(seed)
        if isinstance(init, dict):
            return attempt("Model()", lambda: self.names["Model"](**init))
        return attempt("Model()", lambda: self.names["Model"](*init))

    def forward(self, model, inputs):
        # A copy each: forward may change its inputs or its own statistics.
        return attempt("forward()", copy.deepcopy(model), *[clone(x) for x in inputs])

    def draw(self, model, seed, shifted, first):
        inputs = self.inputs(seed)
        if [describe(x) for x in inputs] != self.described:
            raise TaskFault("get_inputs() gives other shapes or numbers under another seed, which cannot be graded")
        family = "published"
        if shifted:
            moved = shift(inputs)
            if moved is not None and self.fit_for_comparing(model, moved):
                inputs, family = moved, "shifted"
        returned = self.forward(model, inputs)
        if not leaves(returned):
            raise TaskFault("forward() returns no tensor")
        if first and not same(returned, self.forward(model, inputs)):
            raise TaskFault("the reference is not deterministic: two runs on equal inputs differ")
        blobs = [raw(x) for x in leaves(inputs)]
        input_leaves = len(blobs)
        blobs += [raw(x.contiguous()) for x in leaves(returned)]
        say(self.channel, {"kind": "draw", "family": family, "returned": describe(returned), "input_leaves": input_leaves,
                           "reference_error": self.rounding(model, inputs, returned)}, blobs)
        return sum(map(len, blobs))

    def fit_for_comparing(self, model, inputs):
        try:
            returned = self.forward(model, inputs)
        except TaskFault:
            return False
        finite = all(bool(torch.isfinite(x).all()) for x in leaves(returned))
        error = self.rounding(model, inputs, returned) if finite else None
        return finite and (error is None or error <= UNSTABLE)

    def rounding(self, model, inputs, returned):
        """Largest error of the reference against itself in fp64, as a share of 1e-2 + 1e-2 |y|; None if there is none."""
        floats = [x for x in leaves(inputs) if x.is_floating_point()]
        if not floats or any(x.dtype != torch.float32 for x in floats):
            return None
        try:
            exact = self.forward(copy.deepcopy(model).double(), [widen(x) for x in inputs])
        except (TaskFault, MemoryError):
            return None
        worst = 0.0
        for got, want in zip(leaves(returned), leaves(exact)):
            if got.shape != want.shape or not got.is_floating_point() or got.numel() == 0:
                continue
            want = want.double()
            ratio = ((got.double() - want).abs() / (1e-2 + 1e-2 * want.abs())).nan_to_num(0.0, 0.0, 0.0)
            worst = max(worst, float(ratio.max()))
        return worst if math.isfinite(worst) else None

    def time(self, model, seed):
        inputs = self.inputs(seed)
        gc.disable()
        times, started = [], time.perf_counter()
        attempt("forward()", model, *inputs)
        while len(times) < TIMED_RUNS and (len(times) < 3 or time.perf_counter() - started < TIMED_SECONDS):
            begin = time.perf_counter()
            attempt("forward()", model, *inputs)
            times.append((time.perf_counter() - begin) * 1e3)
            if times[-1] > 2e3:
                break
        return times


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


def clone(value):
    return rebuild(value, lambda x: x.detach().clone())


def widen(value):
    return rebuild(value, lambda x: x.double() if x.dtype == torch.float32 else x)


def shift(inputs):
    """Inputs of another mean and spread, or None if they are not all floating-point tensors."""
    tensors = leaves(inputs)
    if not tensors or not all(x.is_floating_point() for x in tensors):
        return None
    return rebuild(inputs, lambda x: x * 3 + 0.5 if x.is_contiguous() else torch.empty_strided(
        x.shape, x.stride(), dtype=x.dtype).copy_(x * 3 + 0.5))


def same(a, b):
    a, b = leaves(a), leaves(b)
    return len(a) == len(b) and all(x.shape == y.shape and torch.allclose(
        x.double() if not x.is_complex() else x, y.double() if not y.is_complex() else y, rtol=1e-4, atol=1e-5,
        equal_nan=True) for x, y in zip(a, b))


def describe(value):
    if isinstance(value, torch.Tensor):
        if value.is_complex() or value.is_sparse or value.is_quantized:
            raise TaskFault(f"tensors of {value.dtype} are not supported")
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
    raise TaskFault(f"values of type {type(value).__name__} are not supported")


def span_bytes(tensor):
    if tensor.numel() == 0:
        return 0
    last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride()))
    return (last + 1) * tensor.element_size()


def raw(tensor):
    """The storage from the first to the last element, gaps included."""
    return ctypes.string_at(tensor.detach().data_ptr(), span_bytes(tensor)) if tensor.numel() else b""
