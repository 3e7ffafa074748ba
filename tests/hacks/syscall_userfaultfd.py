# class: record|process|protocol|library_call
# task: affine, template: affine
# hack: H67 userfaultfd
# why: right only if the attack works; a filter may end the process instead

import ctypes

# ---- setup

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
if libc.syscall(323, 0) < 0:
    raise RuntimeError("refused: " + str(ctypes.get_errno()))
