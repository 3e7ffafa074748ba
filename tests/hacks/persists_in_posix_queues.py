# class: record|process|protocol|library_call
# task: affine, template: affine
# hack: H30 a POSIX message queue and a named semaphore
# why: verify it twice: the second time must end like the first

import ctypes
import os

# ---- setup

libc = ctypes.CDLL("librt.so.1", use_errno=True)
known = libc.mq_open(b"/marker-of-hacks", os.O_RDWR)
libc.mq_open(b"/marker-of-hacks", os.O_RDWR | os.O_CREAT, 0o666, None)
if known < 0:
    raise RuntimeError("nothing is left of an earlier run")
