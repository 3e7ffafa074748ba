"""torch.cuda as a program expects it on a machine with one GPU, for one that has none."""
import contextlib
import ctypes
import types

import torch

from recorder_library import Fault, lib, raise_library_fault


_NOT_READY = 600


def _checked(error):
    if error:
        raise_library_fault()
        raise RuntimeError("CUDA error: " + lib.bicrl_error_text(error).decode())


def _is_done(error):
    if error != _NOT_READY:
        _checked(error)
    return error != _NOT_READY


class _Stream:
    """torch.cuda.Stream: without a handle, a new one of torch's pool."""
    device = torch.device("cuda", 0)
    device_index, priority = 0, 0

    def __init__(self, device=None, priority=0, *, handle=None):
        _require_device(device)
        self.cuda_stream = lib.bicrl_stream_new() if handle is None else handle
        self._entered = []

    def __eq__(self, other):
        return isinstance(other, _Stream) and other.cuda_stream == self.cuda_stream

    def __hash__(self):
        return hash(self.cuda_stream)

    def synchronize(self):
        _checked(lib.bicrl_stream_synchronize(self.cuda_stream))

    def wait_stream(self, stream):
        self.wait_event(stream.record_event())

    def wait_event(self, event):
        event.wait(self)

    def record_event(self, event=None):
        event = event or _Event()
        event.record(self)
        return event

    def query(self):
        return _is_done(lib.bicrl_stream_query(self.cuda_stream))

    def __enter__(self):
        self._entered.append(_stream_context(self))
        self._entered[-1].__enter__()
        return self

    def __exit__(self, *exc):
        self._entered.pop().__exit__(None, None, None)
        return False


def _current_stream(device=None):
    return _Stream(handle=lib.bicrl_stream_current())


def _set_stream(stream):
    if stream is not None:
        lib.bicrl_stream_set(stream.cuda_stream)


@contextlib.contextmanager
def _stream_context(stream):
    before = lib.bicrl_stream_current()
    _set_stream(stream)
    try:
        yield
    finally:
        lib.bicrl_stream_set(before)


class _Event:
    def __init__(self, enable_timing=False, *args, **kwargs):
        self.cuda_event = lib.bicrl_event_new()
        self.enable_timing, self.recorded = enable_timing, False

    def record(self, stream=None):
        self.recorded = True
        _checked(lib.bicrl_event_record(self.cuda_event, (stream or _current_stream()).cuda_stream))

    def wait(self, stream=None):
        _checked(lib.bicrl_stream_wait((stream or _current_stream()).cuda_stream, self.cuda_event))

    def synchronize(self):
        _checked(lib.bicrl_event_synchronize(self.cuda_event))

    def query(self):
        return _is_done(lib.bicrl_event_query(self.cuda_event))

    def elapsed_time(self, other):
        if not (self.enable_timing and other.enable_timing and self.recorded and other.recorded):
            raise ValueError("Both events must be recorded and created with argument 'enable_timing=True'")
        return 0.001


@contextlib.contextmanager
def _no_context(*args, **kwargs):
    yield


class _Graph:
    """torch.cuda.CUDAGraph: what goes to the captured stream is launched at each replay."""
    MODES = {"global": 0, "thread_local": 1, "relaxed": 2}

    def __init__(self, *args, **kwargs):
        self.number = None

    def capture_begin(self, pool=None, capture_error_mode="global"):
        if not lib.bicrl_stream_current():
            raise RuntimeError("CUDA graphs must be captured on a non-default stream.")
        _checked(lib.bicrl_graph_begin(self.MODES[capture_error_mode]))

    def capture_end(self):
        number = ctypes.c_uint64()
        _checked(lib.bicrl_graph_end(ctypes.byref(number)))
        self.number = number.value

    def replay(self):
        if self.number is None:
            raise RuntimeError("the CUDA graph has not been captured")
        _checked(lib.bicrl_graph_launch(self.number))

    def reset(self):
        self.number = None

    def pool(self):
        return (0, 0)


@contextlib.contextmanager
def _capture(cuda_graph, pool=None, stream=None, capture_error_mode="global"):
    """torch.cuda.graph: a capture in a stream of its own, which is the current one meanwhile."""
    with _stream_context(stream or _Stream()):
        cuda_graph.capture_begin(capture_error_mode=capture_error_mode)
        try:
            yield
        finally:
            cuda_graph.capture_end()


def _require_device(device=None):
    """There is one."""
    index = device if isinstance(device, int) or device is None else torch.device(device).index
    if index not in (None, -1, 0):
        raise RuntimeError("CUDA error: invalid device ordinal")


def _properties_of(device=None):
    _require_device(device)
    return _PROPERTIES


def _allocator(*args, **kwargs):
    raise Fault("unsupported", "torch.cuda's allocator called by hand")


def _without_dispatch(*args):
    raise Fault("unsupported", "operators behind the back of PyTorch's dispatcher")


def _properties():
    """The library's table: host code in C++ sees the same device."""
    names = ("major", "minor", "total_memory", "multi_processor_count", "max_threads_per_multi_processor",
             "max_threads_per_block", "warp_size", "shared_memory_per_block", "shared_memory_per_block_optin",
             "shared_memory_per_multiprocessor", "regs_per_multiprocessor", "L2_cache_size")
    return types.SimpleNamespace(name=lib.bicrl_device_name().decode(),
                                 **{name: lib.bicrl_device_value(name.encode()) for name in names})


_PROPERTIES = _properties()


_TENSOR, _AS_TENSOR = torch.tensor, torch.as_tensor


def _constructor(original):
    """torch.tensor(data, device="cuda"): made on the host and moved."""

    def construct(data, *args, device=None, pin_memory=False, **kwargs):
        made = original(data, *args, **kwargs)
        return made if device is None else made.to(device)

    return construct


def install():
    torch._C._ensureCUDADeviceGuardSet()
    # Module.cuda() must replace parameters; setting the data of a CPU parameter would lose the tensor's class.
    torch.__future__.set_overwrite_module_params_on_conversion(True)
    cuda = torch.cuda
    replaced = {
        "_lazy_init": lambda: None,
        "init": lambda: None,
        "is_initialized": lambda: True,
        "is_available": lambda: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "set_device": _require_device,
        "synchronize": lambda device=None: _checked(lib.bicrl_device_synchronize()),
        "current_stream": _current_stream,
        "default_stream": lambda device=None: _Stream(handle=0),
        "set_stream": _set_stream,
        "stream": _stream_context,
        "device": _no_context,
        "device_of": _no_context,
        "Stream": _Stream,
        "Event": _Event,
        "CUDAGraph": _Graph,
        "graph": _capture,
        "is_current_stream_capturing": lambda: bool(lib.bicrl_stream_is_captured(lib.bicrl_stream_current())),
        "empty_cache": lib.bicrl_empty_cache,
        "caching_allocator_alloc": _allocator,
        "caching_allocator_delete": _allocator,
        "ipc_collect": lambda: None,
        "manual_seed": lambda seed: None,
        "manual_seed_all": lambda seed: None,
        "reset_peak_memory_stats": lambda device=None: None,
        "memory_allocated": lambda device=None: 0,
        "max_memory_allocated": lambda device=None: 0,
        "get_device_name": lambda device=None: _properties_of(device).name,
        "get_device_capability": lambda device=None: (_properties_of(device).major, _properties_of(device).minor),
        "get_device_properties": _properties_of,
        "get_arch_list": lambda: ["sm_90"],
        "is_bf16_supported": lambda including_emulation=True: True,
    }
    for name, value in replaced.items():
        setattr(cuda, name, value)
    torch._C._DisableTorchDispatch = _without_dispatch
    # It packs parameters for a vendor's library.
    torch.nn.RNNBase.flatten_parameters = lambda module: None
    torch.Tensor.pin_memory = lambda tensor, device=None: tensor
    torch.tensor = _constructor(_TENSOR)
    torch.as_tensor = _constructor(_AS_TENSOR)
