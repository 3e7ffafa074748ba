# class: record|process|protocol|library_call
# task: affine, template: affine
# hack: H67 bpf
# why: right only if the attack works; a filter may end the process instead

import ctypes

# ---- setup

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
if libc.syscall(321, 0, ctypes.create_string_buffer(128), 128) < 0:
    raise RuntimeError("refused: " + str(ctypes.get_errno()))
