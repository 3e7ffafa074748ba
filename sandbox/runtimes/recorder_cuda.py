"""torch.cuda as a program expects it on a machine with one GPU, for one that has none."""
import contextlib
import types

import torch


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


_PROPERTIES = types.SimpleNamespace(
    name="NVIDIA H100 80GB HBM3", major=9, minor=0, total_memory=85899345920, multi_processor_count=132,
    max_threads_per_multi_processor=2048, warp_size=32, shared_memory_per_block=49152,
    shared_memory_per_block_optin=232448, regs_per_multiprocessor=65536, L2_cache_size=52428800)


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
        "empty_cache": lambda: None,
        "ipc_collect": lambda: None,
        "manual_seed": lambda seed: None,
        "manual_seed_all": lambda seed: None,
        "reset_peak_memory_stats": lambda device=None: None,
        "memory_allocated": lambda device=None: 0,
        "max_memory_allocated": lambda device=None: 0,
        "get_device_name": lambda device=None: _PROPERTIES.name,
        "get_device_capability": lambda device=None: (9, 0),
        "get_device_properties": lambda device=None: _PROPERTIES,
        "get_arch_list": lambda: ["sm_90"],
        "is_bf16_supported": lambda including_emulation=True: True,
    }
    for name, value in replaced.items():
        setattr(cuda, name, value)
