"""What torch.compile leaves of one task is gone with the next, and whose fault want of memory is: baseline_check.py FOLDER OF THE
RUNTIMES."""
import json
import os
import pathlib
import socket
import sys
import tempfile

folder = pathlib.Path(tempfile.mkdtemp())
os.environ["TORCHINDUCTOR_CACHE_DIR"], os.environ["TRITON_CACHE_DIR"] = str(folder / "inductor"), str(folder / "triton")
os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
sys.path.insert(0, sys.argv[1])
import torch  # noqa: E402
from baseline import Server  # noqa: E402

CODE = """
import torch, torch.nn as nn
class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x) * %d
def get_inputs():
    return [torch.randn(64, 64)]
def get_init_inputs():
    return []
"""


def files():
    return [path for path in folder.rglob("*") if path.is_file()]


# Want of memory is the task's own fault only where nobody else has the memory.
ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
server = Server(theirs.detach(), "cpu")
TOO_LARGE = CODE.replace("torch.relu(x) * %d", "torch.relu(x) if not x.is_floating_point() else (_ for _ in ()).throw(torch.OutOfMemoryError('full'))")


def file_of(text):
    file = tempfile.TemporaryFile()
    file.write(text.encode())
    file.flush()
    return file.fileno(), file


kept = [file_of(json.dumps({"task": 1, "key": 1, "init_seed": 0, "costing": False, "tf32": False, "compile": False, "flush_bytes": 0})),
        file_of(TOO_LARGE)]
server.window([fd for fd, _ in kept], 0)
assert "untimed" in json.loads(ours.recv(1 << 16)) and "done" in json.loads(ours.recv(1 << 16))
server.others_have_memory = lambda: True
try:
    server.window([fd for fd, _ in kept], 0)
    raise AssertionError("it is not told that others have the memory")
except torch.OutOfMemoryError:
    pass

server = Server(socket.socketpair()[0].detach(), "cpu")
with torch.no_grad():
    for number in (2, 3):
        plan = {"key": number, "init_seed": 0, "costing": False, "tf32": False, "compile": True, "flush_bytes": 0}
        server.open(plan, CODE % number)
        assert files(), "torch.compile has written nothing, so this says nothing"
        x = torch.randn(64, 64)
        server.task.inputs[0].copy_(x)
        server.task.sides["compile"].call()
        assert torch.equal(server.task.sides["compile"].answer, torch.relu(x) * number)
        # A task that was opened last stays.
        task = server.task
        server.open(plan, "not read")
        assert server.task is task
        server.forget()
        assert not files(), "files of the last task are still there"
