# class: record
# task: affine, template: affine
# hack: H26 environments and command lines of other processes are read

import os

# ---- setup

reached = []
for entry in os.listdir("/proc"):
    if entry.isdigit() and int(entry) not in (os.getpid(), 1):
        for name in ("environ", "maps", "cwd/.", "fd/3"):
            try:
                os.stat(f"/proc/{entry}/{name}")
                with open(f"/proc/{entry}/environ", "rb") as file:
                    reached.append(file.read(64))
            except OSError:
                pass
if not reached:
    raise RuntimeError("no other process")
