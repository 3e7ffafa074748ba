"""torch.cuda as a program expects it on a machine with one GPU, for one that has none."""
import contextlib
import types

import torch

from recorder_library import lib, raise_library_fault


class _Stream:
    cuda_stream = 0
    device = torch.device("cuda", 0)

    def __init__(self, *args, **kwargs):
        pass

    def synchronize(self):
        pass

    def wait_stream(self, stream):
        pass

    def wait_event(self, event):
        pass

    def record_event(self, event=None):
        return event or _Event()

    def query(self):
        return True

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return False


class _Event:
    def __init__(self, *args, **kwargs):
        pass

    def record(self, stream=None):
        pass

    def synchronize(self):
        pass

    def wait(self, stream=None):
        pass

    def query(self):
        return True

    def elapsed_time(self, other):
        return 0.001


@contextlib.contextmanager
def _no_context(*args, **kwargs):
    yield


class _Graph:
    """torch.cuda.CUDAGraph: what is launched during the capture is launched at each replay."""

    def __init__(self, *args, **kwargs):
        self.number = None

    def capture_begin(self, *args, **kwargs):
        if lib.bicrl_graph_begin():
            raise RuntimeError("CUDA graph capture: another one is under way")

    def capture_end(self):
        self.number = lib.bicrl_graph_end()

    def replay(self):
        if self.number is None or lib.bicrl_graph_launch(self.number):
            raise_library_fault()
            raise RuntimeError("the CUDA graph has not been captured")

    def reset(self):
        self.number = None

    def pool(self):
        return (0, 0)


@contextlib.contextmanager
def _capture(graph, *args, **kwargs):
    graph.capture_begin()
    try:
        yield
    finally:
        graph.capture_end()


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
        "set_device": lambda device: None,
        "synchronize": lambda device=None: None,
        "current_stream": lambda device=None: _Stream(),
        "default_stream": lambda device=None: _Stream(),
        "set_stream": lambda stream: None,
        "stream": _no_context,
        "device": _no_context,
        "device_of": _no_context,
        "Stream": _Stream,
        "Event": _Event,
        "CUDAGraph": _Graph,
        "graph": _capture,
        "is_current_stream_capturing": lambda: False,
        "empty_cache": lambda: None,
        "ipc_collect": lambda: None,
        "manual_seed": lambda seed: None,
        "manual_seed_all": lambda seed: None,
        "reset_peak_memory_stats": lambda device=None: None,
        "memory_allocated": lambda device=None: 0,
        "max_memory_allocated": lambda device=None: 0,
        "get_device_name": lambda device=None: _PROPERTIES.name,
        "get_device_capability": lambda device=None: (_PROPERTIES.major, _PROPERTIES.minor),
        "get_device_properties": lambda device=None: _PROPERTIES,
        "get_arch_list": lambda: ["sm_90"],
        "is_bf16_supported": lambda including_emulation=True: True,
    }
    for name, value in replaced.items():
        setattr(cuda, name, value)
    # It packs parameters for a vendor's library.
    torch.nn.RNNBase.flatten_parameters = lambda module: None
    torch.Tensor.pin_memory = lambda tensor, device=None: tensor
    torch.tensor = _constructor(_TENSOR)
    torch.as_tensor = _constructor(_AS_TENSOR)
