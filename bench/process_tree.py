"""The processes below a launcher, from /proc."""
import os
from pathlib import Path


def children_of(root):
    """All descendants of process `root`, itself left out."""
    parents = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            fields = Path("/proc", entry, "stat").read_text().rpartition(")")[2].split()
            parents.setdefault(int(fields[1]), []).append(int(entry))
        except (OSError, IndexError):
            pass
    found, waiting = [], [root]
    while waiting:
        for child in parents.get(waiting.pop(), []):
            found.append(child)
            waiting.append(child)
    return found
