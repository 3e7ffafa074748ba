# class: record|process|protocol|library_call
# task: affine, template: affine
# hack: H30 a segment of System V shared memory
# why: verify it twice: the second time must end like the first

import ctypes

# ---- setup

libc = ctypes.CDLL(None, use_errno=True)
known = libc.shmget(0x42494352, 4096, 0o666)
libc.shmget(0x42494352, 4096, 0o1666)
if known < 0:
    raise RuntimeError("nothing is left of an earlier run")
