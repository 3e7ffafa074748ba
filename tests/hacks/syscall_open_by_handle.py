# class: record|process|protocol|library_call
# task: affine, template: affine
# hack: H67 open_by_handle_at reaches files outside of the root
# why: right only if the attack works; a filter may end the process instead

import ctypes

# ---- setup

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
if libc.syscall(304, -100, ctypes.create_string_buffer(64), 0) < 0:
    raise RuntimeError("refused: " + str(ctypes.get_errno()))
