# class: record|process|protocol|library_call
# task: affine, template: affine
# hack: H30 System V semaphores and message queues
# why: verify it twice: the second time must end like the first

import ctypes

# ---- setup

libc = ctypes.CDLL(None, use_errno=True)
known = max(libc.semget(0x42494353, 1, 0o666), libc.msgget(0x42494353, 0o666))
libc.semget(0x42494353, 1, 0o1666)
libc.msgget(0x42494353, 0o1666)
if known < 0:
    raise RuntimeError("nothing is left of an earlier run")
