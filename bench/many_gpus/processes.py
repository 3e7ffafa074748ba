"""Processes that a bench has started: which they are, and how all of them are ended."""
import os
import signal
import time
from pathlib import Path


def stat_of(pid):
    """State, parent, group and session of a process, as /proc has them; None if there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[:4]
    except OSError:
        return None


def running():
    """stat_of() of every process, by its id."""
    stats = {int(entry.name): stat_of(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()}
    return {pid: stat for pid, stat in stats.items() if stat}


def children(pid):
    """Of all generations; an older one comes before those that it has started."""
    by_parent = {}
    for child, stat in running().items():
        by_parent.setdefault(int(stat[1]), []).append(child)
    found, waiting = [], [pid]
    while waiting:
        started = sorted(by_parent.get(waiting.pop(), []))
        found += started
        waiting += started
    return found


def is_alive(pid):
    stat = stat_of(pid)
    return stat is not None and stat[0] not in "ZX"


def end_all(process, asked_s=0):
    """Ends a started process and all that it has started. A leader of a session is asked first, if it is given `asked_s` seconds, so that
    a launcher ends its ranks; then also those of its session count that a dead parent has left behind."""
    started = {process.pid, *children(process.pid)}

    def left():
        process.poll()
        of_session = {pid for pid, stat in running().items() if asked_s and int(stat[3]) == process.pid}
        return {pid for pid in started | of_session if is_alive(pid)}

    def wait(seconds):
        deadline = time.monotonic() + seconds
        while left() and time.monotonic() < deadline:
            time.sleep(0.05)

    if asked_s and left():
        try:
            os.killpg(process.pid, signal.SIGTERM)
        except ProcessLookupError:
            pass
        wait(asked_s)
    for pid in left():
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    wait(30)
