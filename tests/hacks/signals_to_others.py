# class: record|process|protocol
# task: affine, template: affine
# hack: H55 signal 0 to every process, then SIGKILL to all
# why: SIGKILL to all may end what the candidate's box consists of

import os
import signal

# ---- setup

reached = []
for number in range(1, 65536):
    if number != os.getpid():
        try:
            os.kill(number, 0)
            reached.append(number)
        except OSError:
            pass
os.kill(-1, signal.SIGKILL)
if len(reached) < 3:
    raise RuntimeError("alone in here")
