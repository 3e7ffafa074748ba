"""A verifier that a bench starts and that all of its commands ask."""
import contextlib
import re
import subprocess
import threading
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1]


@contextlib.contextmanager
def running_verifier(program, *words):
    """Its address on the loopback, as long as the block runs. `words`: of `bicrl verifier`."""
    process = subprocess.Popen([program, "verifier", "listen=127.0.0.1:0", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True, cwd=SOURCE)
    try:
        address = next(match[0] for line in process.stdout if (match := re.search(r"127\.0\.0\.1:\d+", line)))
        threading.Thread(target=lambda: [None for _ in process.stdout], daemon=True).start()  # or it would wait for a reader
        yield address
    finally:
        process.terminate()
        process.wait()
