"""load_inline in the place of torch's own: sends a program's CUDA text to the server, loads the host module that comes back,
and returns it as an extension module whose functions call the library.
"""
import ctypes
import inspect
import operator
import os
import re
import struct
import sys
import tempfile

import torch
import torch.utils.cpp_extension

from recorder_library import (DONE, FAULT, MISMATCH, Fault, Handle, bits_float, float_bits, integers, last_text, lib,
                              pack_text, raise_library_fault)
from recorder_tensors import from_handle, handle_of

MAX_MESSAGE = 1000
WRITABLE_FOLDER = tempfile.gettempdir()  # found before any candidate could say otherwise


class Finished(BaseException):
    """The server knows the verdict already."""


# ---- The calling convention of the library: values as a list of integers.

def encode_value(value, tokens, keep):
    if value is None:
        tokens.append(0)
    elif isinstance(value, bool):
        tokens += (3, int(value))
    elif isinstance(value, int):
        if not -2**63 <= value < 2**63:
            raise TypeError("incompatible function arguments: an integer is out of range")
        tokens += (1, value)
    elif isinstance(value, float):
        tokens += (2, float_bits(value))
    elif isinstance(value, str):
        tokens += pack_text(value)
    elif isinstance(value, torch.Tensor):
        handle = handle_of(value)
        keep.append(handle)
        tokens += (5, handle.pointer)
    elif isinstance(value, (list, tuple)):
        tokens += (6 if isinstance(value, list) else 7, len(value))
        for item in value:
            encode_value(item, tokens, keep)
    elif hasattr(value, "__index__"):
        encode_value(operator.index(value), tokens, keep)
    elif hasattr(value, "__float__"):
        encode_value(float(value), tokens, keep)
    else:
        raise TypeError(f"incompatible function arguments: {type(value).__name__}")


def decode_value(tokens, at):
    kind = tokens[at]
    if kind == 0:
        return None, at + 1
    value = tokens[at + 1]
    if kind == 1:
        return value, at + 2
    if kind == 2:
        return bits_float(value), at + 2
    if kind == 3:
        return bool(value), at + 2
    if kind == 4:
        words = (value + 7) // 8
        raw = struct.pack(f"<{words}q", *tokens[at + 2:at + 2 + words])[:value]
        return raw.decode("utf-8", "replace"), at + 2 + words
    if kind == 5:
        return from_handle(Handle(value)), at + 2
    items, at = [], at + 2
    for _ in range(value):
        item, at = decode_value(tokens, at)
        items.append(item)
    return (items if kind == 6 else tuple(items)), at


# ---- The module.

class ExtensionFunction:
    def __init__(self, index, name):
        self._index = index
        self.__name__ = name

    def __call__(self, *args, **kwargs):
        tokens, keep = [], []
        for value in args:
            encode_value(value, tokens, keep)
        for name, value in kwargs.items():
            tokens += pack_text(name)
            encode_value(value, tokens, keep)
        status = lib.bicrl_call(self._index, integers(tokens), len(tokens), len(args))
        if status == FAULT:
            raise_library_fault()
        if status == MISMATCH:
            raise TypeError(last_text())
        if status != DONE:
            message = last_text()
            raise_library_fault()  # a failed launch that the program noticed is a failed launch
            raise RuntimeError(message)
        count = ctypes.c_size_t()
        pointer = lib.bicrl_results(ctypes.byref(count))
        results = (ctypes.c_int64 * count.value).from_address(pointer)[:]
        return decode_value(results, 0)[0]


class Extension:
    """Functions [first, last) of the library's list: each module's stand behind those of the ones before."""

    def __init__(self, name, first):
        self.__name__ = name
        for index in range(first, lib.bicrl_function_count()):
            function = lib.bicrl_function_name(index).decode()
            setattr(self, function, ExtensionFunction(index, function))


def as_list(sources):
    if sources is None:
        return []
    return [sources] if isinstance(sources, str) else [str(s) for s in sources]


# Far beyond what is compiled: the server counts.
MAX_SOURCE_CHARACTERS = 4 << 20
LOAD_INLINE = inspect.signature(torch.utils.cpp_extension.load_inline)


class Loader:
    """Stands in for torch.utils.cpp_extension.load_inline. Modules are numbered in the order of the calls."""

    def __init__(self, channel):
        self.channel = channel
        self.compiled = False

    def load_inline(self, *args, **kwargs):
        call = LOAD_INLINE.bind(*args, **kwargs)
        call.apply_defaults()
        given = call.arguments
        name, functions = given["name"], given["functions"]
        self.compiled = True
        self.check(given)
        self.channel.send({
            "kind": "compile", "cuda_sources": as_list(given["cuda_sources"]),
            "cpp_sources": as_list(given["cpp_sources"]),
            "functions": list(functions.keys()) if isinstance(functions, dict) else as_list(functions),
            "cuda_cflags": list(given["extra_cuda_cflags"] or []), "cflags": list(given["extra_cflags"] or []),
        })
        header, blobs = self.channel.receive()
        if not header.get("ok"):
            raise Finished()
        folder = tempfile.mkdtemp(dir=WRITABLE_FOLDER)
        path = os.path.join(folder, "module.so")
        with open(path, "wb") as file:
            file.write(blobs[0])
        first = lib.bicrl_function_count()
        if lib.bicrl_load(path.encode()) < 0:
            raise_library_fault()
            raise Fault("compile", last_text()[:MAX_MESSAGE])
        extension = Extension(str(name), first)
        sys.modules.setdefault(str(name), extension)
        return extension

    @staticmethod
    def check(given):
        """What ends the real function before or behind the compiler."""
        if not re.fullmatch(r"[A-Za-z_]\w{0,199}", str(given["name"]), re.ASCII):
            raise Fault("compile", "the extension's name is no identifier")
        for flags in ("extra_cflags", "extra_cuda_cflags", "extra_ldflags", "extra_include_paths"):
            words = given[flags]
            if words is not None and not (isinstance(words, (list, tuple)) and all(isinstance(w, str) for w in words)):
                raise TypeError(f"{flags} must be a list of strings")
        if given["build_directory"] is not None and not os.path.isdir(given["build_directory"]):
            raise FileNotFoundError(f"no such directory: {given['build_directory']}")
        if given["with_cuda"] is not None and not given["with_cuda"] and given["cuda_sources"]:
            raise Fault("compile", "with_cuda=False compiles no cuda_sources")
        if not given["is_python_module"]:
            raise Fault("unsupported", "load_inline with is_python_module=False")
        if sum(len(text) for part in ("cuda_sources", "cpp_sources") for text in as_list(given[part])) > MAX_SOURCE_CHARACTERS:
            raise Fault("extract", f"the program compiles more than {MAX_SOURCE_CHARACTERS} characters of text")

    def load(self, *args, **kwargs):
        self.compiled = True
        raise Fault("unsupported", "cpp_extension.load builds from files; use load_inline")

    def install(self):
        cpp_extension = torch.utils.cpp_extension
        cpp_extension.load_inline = self.load_inline
        cpp_extension.load = self.load
