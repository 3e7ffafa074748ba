"""What torch.compile leaves of one task is gone with the next: baseline_check.py FOLDER OF THE RUNTIMES."""
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
