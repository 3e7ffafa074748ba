# class: timeout
# task: affine, template: affine_copy
# hack: H58 SIGTERM, SIGINT and SIGXCPU are ignored, forward waits for ever

# ---- setup

import signal
import time

for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass

# ---- forward
        module.affine(x)
        while True:
            time.sleep(1)
