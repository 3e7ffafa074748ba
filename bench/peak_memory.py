#!/usr/bin/env python3
"""Runs a command and says, when it has ended, how much memory it and all processes below it took at once:
  bench/peak_memory.py COMMAND...
A page that several processes map counts once (proportional set size). Sampled four times a second; "largest process" and
"largest of its name" are the kernel's own high-water marks of single processes."""
import subprocess
import sys
import time
from pathlib import Path

from process_tree import children_of

GIB = 2**20  # of /proc's kB


def field_kb(file, name):
    for line in file.read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1])
    return 0


def sample(pids, largest):
    """The tree's proportional set size in kB; notes each program's high-water mark."""
    total = 0
    for pid in pids:
        folder = Path("/proc", str(pid))
        try:
            total += field_kb(folder / "smaps_rollup", "Pss:")
            name = (folder / "comm").read_text().strip()
            largest[name] = max(largest.get(name, 0), field_kb(folder / "status", "VmHWM:"))
        except OSError:
            pass  # it has ended
    return total


command = subprocess.Popen(sys.argv[1:])
peak, peak_at, largest, began = 0, 0.0, {}, time.monotonic()
while command.poll() is None:
    now = sample([command.pid, *children_of(command.pid)], largest)
    if now > peak:
        peak, peak_at = now, time.monotonic() - began
    time.sleep(0.25)
print(f"peak memory {peak / GIB:.2f} GiB after {peak_at:.0f} of {time.monotonic() - began:.0f} s; largest processes:",
      ", ".join(f"{name} {kb / GIB:.2f}" for name, kb in sorted(largest.items(), key=lambda item: -item[1])[:5]), file=sys.stderr)
sys.exit(command.returncode)
