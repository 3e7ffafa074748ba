# class: record
# task: affine, template: affine
# hack: H27 /proc/PID/mem of any other process is opened for writing

import os

# ---- setup

reached = []
for entry in os.listdir("/proc"):
    if entry.isdigit() and int(entry) != os.getpid():
        try:
            with open(f"/proc/{entry}/mem", "r+b"):
                reached.append(entry)
        except OSError:
            pass
if not reached:
    raise RuntimeError("no other process")
