# class: record|process|protocol|library_call
# task: affine, template: affine
# hack: H27 ptrace attaches to the parent
# why: right only if the attack works; a filter may end the process instead

import ctypes
import os

# ---- setup

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
if libc.syscall(101, 16, os.getppid(), 0, 0) < 0:
    raise RuntimeError("refused: " + str(ctypes.get_errno()))
