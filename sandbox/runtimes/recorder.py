"""Runs one candidate program in a forked child: records what its host part would launch on a GPU.

run_candidate(channel) speaks the verifier's frames (u32 length | JSON | blobs) with the server. Whatever it sends is
a claim, because the program runs in this very process: the server checks it.
"""
import ctypes
import itertools
import json
import os
import struct
import sys
import tempfile
import threading
import types

import torch

import arguments
import parameters
import recorder_cuda
from recorder_extension import MAX_MESSAGE, WRITABLE_FOLDER, Finished, Loader
from recorder_library import CONSTANT, INPUT, SYMBOL, Fault, lib, raise_library_fault
from recorder_tensors import DeviceMode, DeviceTensor, device_constant, device_input, handle_of, record_of, state

CERTAIN_CALLS, MOST_CALLS = 3, 16  # of forward
CHEAP_TRACE_BYTES, BLOB_OVERHEAD = 1 << 20, 4096  # there may be so many blobs in a frame
random_number = os.urandom


# ---- Frames.

def as_json(value):
    """Lone surrogates stay for the encoding, which replaces them: no reader of JSON takes their escapes."""
    return json.dumps(value, ensure_ascii=False)


class Channel:
    def __init__(self, descriptor):
        self.descriptor = descriptor

    def _read(self, size):
        parts = []
        while size:
            part = os.read(self.descriptor, min(size, 1 << 20))
            if not part:
                raise EOFError("the server closed the channel")
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def receive(self):
        header = json.loads(self._read(struct.unpack("<I", self._read(4))[0]))
        return header, [self._read(size) for size in header.get("blobs", [])]

    def send_text(self, text, blobs):
        raw = text.encode(errors="replace")
        for part in (struct.pack("<I", len(raw)), raw, *blobs):
            view = memoryview(part)
            while len(view):
                try:
                    view = view[os.write(self.descriptor, view):]
                except OSError:  # memory that the program has unmapped; within a frame nothing else can be said
                    os._exit(1)

    def send(self, header, blobs=()):
        self.send_text(as_json({**header, "blobs": [len(b) for b in blobs]}), blobs)


# ---- Inputs and outputs.

def build_inputs(specs, tensors):
    """What forward is given, its tensors one after the other from `tensors`."""

    def build(spec):
        kind = spec["t"]
        if kind == "tensor":
            return next(tensors)
        if kind == "none":
            return None
        if kind in ("list", "tuple", "dict"):
            items = [build(item) for item in spec["items"]]
            if kind == "dict":
                return dict(zip(spec["keys"], items))
            return items if kind == "list" else tuple(items)
        return spec["v"]

    return [build(spec) for spec in specs]


def tensor_specs(spec):
    if spec["t"] == "tensor":
        yield spec
    for item in spec.get("items", ()):
        yield from tensor_specs(item)


def input_tensors(specs, number):
    """A set of tensors for forward."""
    made = []
    for leaf, spec in enumerate(leaf for spec in specs for leaf in tensor_specs(spec)):
        sizes = spec["shape"]
        strides = spec.get("strides")
        if strides is None:
            strides = torch.empty(sizes, device="meta").stride()
        dtype = getattr(torch, spec["dtype"].removeprefix("torch."))
        made.append(device_input(leaf, number, dtype, list(sizes), list(strides)))
    return made


def describe_outputs(value, describe_tensor, depth=0):
    if depth > 12:
        raise Fault("unsupported", "the returned value is nested too deeply")
    if isinstance(value, torch.Tensor):
        return describe_tensor(value)
    if value is None:
        return {"t": "none"}
    for python_type, kind in ((bool, "bool"), (int, "int"), (str, "str")):
        if isinstance(value, python_type):
            return {"t": kind, "v": value}
    if isinstance(value, float):
        # JSON has no infinities; such a value equals no reference value.
        return {"t": "float", "v": value if value == value and abs(value) != float("inf") else None}
    if isinstance(value, dict):
        return {"t": "dict", "keys": [str(k) for k in value],
                "items": [describe_outputs(v, describe_tensor, depth + 1) for v in value.values()]}
    if isinstance(value, (list, tuple)):
        return {"t": "list" if isinstance(value, list) else "tuple",
                "items": [describe_outputs(v, describe_tensor, depth + 1) for v in value]}
    raise Fault("record", f"forward returned a {type(value).__name__}")


def on_device(tensor):
    return tensor if isinstance(tensor, DeviceTensor) else device_constant(tensor.detach())


def describe_tensor(tensor):
    # Text of the library, already JSON.
    view = lib.bicrl_trace_view(handle_of(on_device(tensor))).decode()
    return {"t": "tensor", **json.loads(view)}


class Call:
    """One call of forward: the set of input tensors that it gets, its operations, what it returned."""

    def __init__(self, model, specs, tensors, number, training):
        """`training`: the mode that the module is brought into before; None: it stays as it is."""
        self.tensors = number
        self.begin = lib.bicrl_end_call(False)
        if training is not None and isinstance(model, torch.nn.Module):
            model.train(training)
        for tensor in tensors:
            record_of(tensor).taint = None  # its contents are new
        returned = model(*build_inputs(specs, iter(tensors)))
        raise_library_fault()
        pending = lib.bicrl_pending_error()
        if pending:
            raise Fault("launch", "forward leaves a CUDA error behind, which PyTorch's next operation would raise: "
                        + pending.decode())
        self.outputs = describe_outputs(returned, describe_tensor)
        raise_library_fault()
        self.end = lib.bicrl_end_call(False)
        self.end_after = lib.bicrl_end_after().decode()
        begin = 0 if state.call == 1 else self.begin  # the first one's are the constructor's as well
        self.operations = lib.bicrl_trace_ops(begin, self.end).decode()


def record_calls(model, specs, ignores_mode, certain_only):
    """Forward once, then on the same tensors with other contents, which shows who remembers inputs by what they are
    called, then on other tensors, which shows who still reads the first ones; then on these and those in turn, where
    the reference ignores the mode out of training mode and in it, as often as chance has it after each of them; not if
    `certain_only`, as outputs of gigabytes fill a device."""
    lib.bicrl_end_call(True)
    sets = [input_tensors(specs, number) for number in (0, 1)]
    calls = []
    for number in (0, 0, 1, *itertools.islice(itertools.cycle((0, 1)), MOST_CALLS - CERTAIN_CALLS)):
        if len(calls) >= CERTAIN_CALLS and (certain_only or not another_call(calls)):
            break
        state.call = len(calls) + 1
        training = len(calls) % 2 == 0 if ignores_mode and len(calls) >= CERTAIN_CALLS else None
        calls.append(Call(model, specs, sets[number], number, training))
    state.call = 0
    if threading.active_count() > 1:
        raise Fault("process", "threads of the program are at work behind forward")
    return calls


def another_call(calls):
    """The first one behind the certain calls, and after each the next with probability 3/4, while the trace is small. Drawn
    when it is due, so that there is nothing to find before."""
    size = ctypes.c_size_t()
    trace_bytes = sum(len(call.operations) for call in calls)
    for index in range(lib.bicrl_blob_count()):
        lib.bicrl_blob(index, ctypes.byref(size))
        trace_bytes += BLOB_OVERHEAD + size.value
    return trace_bytes <= CHEAP_TRACE_BYTES and (len(calls) == CERTAIN_CALLS or random_number(1)[0] % 4 < 3)


def bytes_of(storage, size):
    """Of a parameter, without a copy: they may take hundreds of MiB."""
    if not size:
        return b""
    if not storage.data_ptr():
        raise Fault("record", "a tensor without memory (on the device 'meta', or resized to nothing) is used like one with data")
    return memoryview((ctypes.c_char * size).from_address(storage.data_ptr())).cast("B")


def send_trace(channel, calls):
    blobs = []
    for index in range(lib.bicrl_blob_count()):
        size = ctypes.c_size_t()
        pointer = lib.bicrl_blob(index, ctypes.byref(size))
        blobs.append(ctypes.string_at(pointer, size.value))
    buffers = []
    for index in range(lib.bicrl_trace_buffers()):
        out = (ctypes.c_int64 * 4)()
        lib.bicrl_trace_buffer(index, out)
        kind, size, source, number = out
        if kind == INPUT:
            buffers.append({"kind": "input", "bytes": size, "source": source,
                            "tensors": state.by_number[number].tensors})
        elif kind == SYMBOL:
            buffers.append({"kind": "symbol", "bytes": size, "module": source,
                            "name": lib.bicrl_trace_symbol(index).decode("utf-8", "replace")})
        elif kind == CONSTANT:
            buffers.append({"kind": "constant", "bytes": size, "blob": len(blobs)})
            blobs.append(bytes_of(state.by_number[number].value, size))
        else:
            buffers.append({"kind": "allocation", "bytes": size})
    raise_library_fault()
    first, *repeats = calls
    head = as_json({"kind": "trace", "buffers": buffers, "construction_ops": first.begin,
                    "blobs": [len(b) for b in blobs]})
    channel.send_text(f'{head[:-1]}, {call_text(first)}, "repeats": ['
                      + ", ".join(f'{{"tensors": {call.tensors}, {call_text(call)}}}' for call in repeats)
                      + "]}", blobs)


def call_text(call):
    end = f', "end_after": {call.end_after}' if call.end_after else ""
    return f'"outputs": {as_json(call.outputs)}, "ops": {call.operations}{end}'


# ---- The run.

def to_device(value):
    if isinstance(value, torch.Tensor):
        return value.cuda()
    if isinstance(value, (list, tuple)):
        return type(value)(to_device(v) for v in value)
    if isinstance(value, dict):
        return {key: to_device(v) for key, v in value.items()}
    return value


def program_namespace(text):
    """The program as a file of its own, as it would be on a disk: inspect and __file__ find it."""
    folder = tempfile.mkdtemp(dir=WRITABLE_FOLDER)
    path = os.path.join(folder, "program.py")
    with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(text)
    names = {"__name__": "program", "__file__": path}
    module = types.ModuleType("program")
    module.__dict__.update(names)
    sys.modules["program"] = module
    return module.__dict__, path


def run_program(channel, loader, request, blobs):
    state.small_parameter_elements = int(request.get("small_parameter_elements", 1000))
    lib.bicrl_start(channel.descriptor)
    loader.install()
    recorder_cuda.install()
    seed = int(request["init_seed"])
    init = arguments.unpack(request["arguments"], blobs)
    with DeviceMode():
        names, path = program_namespace(request["program"])
        exec(compile(request["program"], path, "exec"), names)
        model_class = names.get("ModelNew")
        if model_class is None:
            raise Fault("extract", "the program defines no ModelNew")
        init = to_device(init)
        torch.manual_seed(seed)
        model = model_class(**init) if isinstance(init, dict) else model_class(*init)
        parameters.apply(model, request.get("parameters"))
        if isinstance(model, torch.nn.Module):
            model = model.cuda()
        state.constructing = False
        with torch.no_grad():
            calls = record_calls(model, request["inputs"], request["ignores_mode"], request["certain_calls_only"])
        if not loader.compiled:
            raise Fault("extract", "the program never calls load_inline")
        send_trace(channel, calls)


def warm_up():
    """Once in the interpreter that forks: what torch imports and caches at first use would cost every child."""
    import torch._subclasses.fake_tensor  # noqa: F401 - Module.cuda() imports it

    recorder_cuda.install()
    with DeviceMode(), torch.no_grad():
        model = torch.nn.Linear(2, 3).cuda()
        tensor = device_constant(torch.ones(2, 3))
        state.constructing = False
        torch.empty_like(tensor.t()[0].unsqueeze(0).view(-1)).reshape(1, -1)
        tensor.relu()
        model.weight.detach()
    state.reset()


def text_of(error):
    try:
        return str(error)[:MAX_MESSAGE]
    except BaseException:  # noqa: BLE001 - the program's own exceptions may do anything
        return ""


def run_candidate(channel_descriptor):
    channel = Channel(channel_descriptor)
    request, blobs = channel.receive()
    loader = Loader(channel)
    try:
        run_program(channel, loader, request, blobs)
        return
    except Finished:
        return
    except Fault as fault:
        fault_class, message = fault.fault_class, fault.message
    except MemoryError:
        fault_class, message = "memory", "the host part ran out of memory"
    except SystemExit:
        fault_class, message = "record", "the program called exit()"
    except BaseException as error:  # noqa: BLE001 - whatever a program raises is its verdict
        fault_class, message = "record", f"{type(error).__name__}: {text_of(error)}"
        # What the library noted first is the cause of what Python raised later.
        noted = lib.bicrl_fault_class().decode()
        if noted:
            fault_class, message = noted, lib.bicrl_fault_message().decode("utf-8", "replace")
    if not loader.compiled and fault_class == "framework_fallback":
        fault_class, message = "extract", f"the program never calls load_inline ({message})"
    if state.call > 1:
        message = f"at call {state.call} of forward: {message}"
    channel.send({"kind": "fault", "class": fault_class, "message": message[:MAX_MESSAGE]})
