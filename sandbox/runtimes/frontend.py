"""Turns a candidate's CUDA text into host units and PTX, in a child of a warm process that holds NVRTC with its headers
precompiled. The text is data here: no code of a candidate's ever runs in this process.

request  {"kind": "frontend", "cuda_sources", "cpp_sources", "functions", "cuda_cflags", "cflags", "device": bool,
          "architecture": "" or that whose machine code is asked about}
replies  {"kind": "split", "issues", "units"}, the last one if there are issues or no device
             code is asked for
         {"kind": "device", "ok", "cut", "class", "reason"} + PTX
         {"kind": "resources", "resources"} if it is ok and an architecture is asked about
"""
import ctypes
import json
import os
import socket
import sys

from frames import receive, say

# As FrontendProcess (sandbox/frontend/frontend_process.cpp) mounts them.
TOOLKIT = "/nvrtc"
INCLUDE_FOLDERS = ["/shim", "/cuda", "/cuda/cccl"]
PCH_FOLDER = "/keep"
MAX_PTX_BYTES = 32 << 20


class Answer(ctypes.Structure):
    _fields_ = [("header", ctypes.c_void_p), ("header_bytes", ctypes.c_size_t),
                ("blob", ctypes.c_void_p), ("blob_bytes", ctypes.c_size_t)]


library = None


def warm_up():
    """Loads what lies in folders that children do not see."""
    global library
    library = ctypes.CDLL(os.path.join(os.path.dirname(os.path.abspath(__file__)), "libbicrl_frontend.so"))
    library.bicrl_frontend_load.restype = library.bicrl_frontend_precompile.restype = ctypes.c_char_p
    names = os.listdir(TOOLKIT)
    options = {"library": os.path.join(TOOLKIT, min(n for n in names if n.startswith("libnvrtc.so"))),
               "include_folders": INCLUDE_FOLDERS, "pch_folder": PCH_FOLDER, "max_ptx_bytes": MAX_PTX_BYTES}
    error = library.bicrl_frontend_load(json.dumps(options).encode())
    if error:
        sys.exit(error.decode())


def prepare():
    """What most texts need, before the first of them."""
    error = library.bicrl_frontend_precompile(b"")
    if error:
        sys.exit("headers cannot be precompiled: " + error.decode(errors="replace"))


def prepare_more(word):
    """What the later texts need that have this word, or are compiled for this architecture; up to two seconds each."""
    error = library.bicrl_frontend_precompile(word.encode())
    if error:
        print("headers cannot be precompiled:", error.decode(errors="replace"), file=sys.stderr)


def run(fd):
    channel = socket.socket(fileno=fd)
    request, _ = receive(channel)
    program = json.dumps(request).encode()
    answer = Answer()
    library.bicrl_frontend_split(program, ctypes.c_size_t(len(program)), ctypes.byref(answer))
    header = json.loads(ctypes.string_at(answer.header, answer.header_bytes))
    say(channel, header)
    if header["issues"] or not request["device"]:
        return
    library.bicrl_frontend_device(program, ctypes.c_size_t(len(program)), ctypes.byref(answer))
    header = json.loads(ctypes.string_at(answer.header, answer.header_bytes))
    say(channel, header, [ctypes.string_at(answer.blob, answer.blob_bytes)] if header["ok"] else [])
    if not header["ok"] or not request["architecture"]:
        return
    library.bicrl_frontend_resources(request["architecture"].encode(), ctypes.byref(answer))
    say(channel, json.loads(ctypes.string_at(answer.header, answer.header_bytes)))
