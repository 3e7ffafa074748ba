"""ctypes face of libbicrl_host.so: storages, tensor handles, calls of the candidate's functions."""
import ctypes
import os
import struct

import torch

FOLDER = os.path.dirname(os.path.abspath(__file__))

SCALAR_TYPES = {
    torch.uint8: 0, torch.int8: 1, torch.int16: 2, torch.int32: 3, torch.int64: 4, torch.float16: 5,
    torch.float32: 6, torch.float64: 7, torch.bool: 11, torch.bfloat16: 15,
    torch.float8_e5m2: 23, torch.float8_e4m3fn: 24,
}
DTYPES = {number: dtype for dtype, number in SCALAR_TYPES.items()}
INPUT, CONSTANT, ALLOCATION, HOST, SYMBOL = range(5)
DONE, THREW, MISMATCH, FAULT = range(4)


class Fault(BaseException):
    """Ends the run with a verdict class. A program that catches it gains nothing: the library has noted it, and what it
    has noted first is the verdict."""

    def __init__(self, fault_class, message):
        super().__init__(message)
        self.fault_class = fault_class
        self.message = message
        lib.bicrl_set_fault(fault_class.encode(), message.encode("utf-8", "replace"))


def _load():
    lib = ctypes.CDLL(os.path.join(FOLDER, "libbicrl_host.so"), mode=os.RTLD_DEEPBIND | os.RTLD_NOW)
    i64, u64, text, pointer, size = (ctypes.c_int64, ctypes.c_uint64, ctypes.c_char_p, ctypes.c_void_p,
                                     ctypes.c_size_t)
    signatures = {
        "bicrl_start": (None, [ctypes.c_int]),
        "bicrl_last_text": (text, []),
        "bicrl_fault_class": (text, []),
        "bicrl_fault_message": (text, []),
        "bicrl_load": (i64, [text]),
        "bicrl_function_count": (i64, []),
        "bicrl_function_name": (text, [i64]),
        "bicrl_call": (ctypes.c_int, [i64, pointer, size, size]),
        "bicrl_results": (pointer, [ctypes.POINTER(size)]),
        "bicrl_storage_new": (i64, [ctypes.c_int, u64, i64]),
        "bicrl_storage_values": (None, [i64, pointer]),
        "bicrl_storage_write": (None, [i64, pointer, size]),
        "bicrl_storage_read": (None, [i64, pointer, size]),
        "bicrl_storage_readable": (ctypes.c_int, [i64]),
        "bicrl_storage_shared": (None, [i64]),
        "bicrl_storage_kind": (ctypes.c_int, [i64]),
        "bicrl_storage_address": (u64, [i64]),
        "bicrl_storage_bytes": (u64, [i64]),
        "bicrl_tensor_new": (pointer, [i64, ctypes.c_int, i64, size, pointer, pointer]),
        "bicrl_tensor_free": (None, [pointer]),
        "bicrl_tensor_describe": (size, [pointer, pointer]),
        "bicrl_copy": (ctypes.c_int, [pointer, pointer]),
        "bicrl_fill": (ctypes.c_int, [pointer, ctypes.c_int, ctypes.c_double, i64]),
        "bicrl_trace_view": (text, [pointer]),
        "bicrl_pending_error": (text, []),
        "bicrl_empty_cache": (None, []),
        "bicrl_set_fault": (None, [text, text]),
        "bicrl_end_call": (i64, [ctypes.c_int]),
        "bicrl_end_after": (text, []),
        "bicrl_trace_ops": (text, [i64, i64]),
        "bicrl_trace_buffers": (i64, []),
        "bicrl_trace_buffer": (None, [i64, pointer]),
        "bicrl_trace_symbol": (text, [i64]),
        "bicrl_device_value": (i64, [text]),
        "bicrl_device_name": (text, []),
        "bicrl_stream_new": (u64, []),
        "bicrl_stream_current": (u64, []),
        "bicrl_stream_set": (None, [u64]),
        "bicrl_stream_synchronize": (ctypes.c_int, [u64]),
        "bicrl_stream_query": (ctypes.c_int, [u64]),
        "bicrl_stream_wait": (ctypes.c_int, [u64, u64]),
        "bicrl_stream_is_captured": (ctypes.c_int, [u64]),
        "bicrl_device_synchronize": (ctypes.c_int, []),
        "bicrl_event_new": (u64, []),
        "bicrl_event_record": (ctypes.c_int, [u64, u64]),
        "bicrl_event_synchronize": (ctypes.c_int, [u64]),
        "bicrl_event_query": (ctypes.c_int, [u64]),
        "bicrl_error_text": (text, [ctypes.c_int]),
        "bicrl_graph_begin": (ctypes.c_int, [ctypes.c_int]),
        "bicrl_graph_end": (ctypes.c_int, [ctypes.POINTER(u64)]),
        "bicrl_graph_launch": (ctypes.c_int, [u64]),
        "bicrl_blob_count": (i64, []),
        "bicrl_blob": (pointer, [i64, ctypes.POINTER(size)]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(lib, name)
        function.restype = result
        function.argtypes = arguments
    return lib


lib = _load()


def last_text():
    return lib.bicrl_last_text().decode("utf-8", "replace")


def raise_library_fault():
    """Raises what the library has noted, if it has noted something."""
    fault_class = lib.bicrl_fault_class().decode()
    if fault_class:
        raise Fault(fault_class, lib.bicrl_fault_message().decode("utf-8", "replace"))


def checked(status):
    if status == FAULT:
        raise_library_fault()
    if status != DONE:
        raise RuntimeError(last_text())


def integers(values):
    return (ctypes.c_int64 * max(1, len(values)))(*values)


def new_storage(kind, size, source=-1):
    number = lib.bicrl_storage_new(kind, size, source)
    if number < 0:
        raise_library_fault()
    return number


class Handle:
    """A tensor handle of the library, freed with the object: pass the object itself to the library, which keeps
    it alive during the call."""

    def __init__(self, pointer):
        self.pointer = pointer
        self._as_parameter_ = ctypes.c_void_p(pointer)

    @staticmethod
    def of(storage, dtype, offset, sizes, strides):
        if dtype not in SCALAR_TYPES:
            raise Fault("unsupported", f"tensors of type {dtype} are not supported")
        return Handle(lib.bicrl_tensor_new(storage, SCALAR_TYPES[dtype], offset, len(sizes), integers(sizes),
                                           integers(strides)))

    def describe(self):
        """(storage, dtype, offset, sizes, strides)"""
        out = (ctypes.c_int64 * 132)()
        lib.bicrl_tensor_describe(self.pointer, out)
        dims = out[3]
        return out[0], DTYPES[out[1]], out[2], list(out[4:4 + dims]), list(out[4 + dims:4 + 2 * dims])

    def __del__(self):
        lib.bicrl_tensor_free(self.pointer)


def pack_text(text):
    raw = text.encode("utf-8", "surrogatepass")
    padded = raw + b"\0" * (-len(raw) % 8)
    return [4, len(raw), *struct.unpack(f"<{len(padded) // 8}q", padded)]


def float_bits(value):
    return struct.unpack("<q", struct.pack("<d", value))[0]


def bits_float(bits):
    return struct.unpack("<d", struct.pack("<q", bits))[0]
