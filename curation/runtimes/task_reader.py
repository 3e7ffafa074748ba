"""Answers one question about a task's code, in a box: what is wrong with it, how it is written, or what it computes."""
import socket
import sys

import torch  # noqa: F401: warm before the first fork

from frames import receive, say
from size_variants import fitting_text
from task_checks import examine
from task_fingerprint import decompositions, read_function
from task_tree import read_tree

MOST_BYTES = 256 << 20  # of inputs, parameters and answer: a task that is larger is examined at a smaller size


def warm_up():
    """Imports what the first question would, and makes torch's tables."""
    decompositions()
    examine("import torch\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return torch.relu(x) + 1\n"
            "def get_inputs():\n    return [torch.randn(4, 4)]\n")


def run(fd):
    channel = socket.socket(fileno=fd)
    request, _ = receive(channel)
    sys.setrecursionlimit(3000)
    kind, code = request["kind"], request["code"]
    if kind == "examine":
        answer = answer_of(lambda: examine(fitting_text(code, MOST_BYTES)))
    elif kind == "tree":
        answer = answer_of(lambda: read_tree(code, request["shapes"]))
    else:
        answer = answer_of(lambda: read_function(code, request["shapes"]))
    say(channel, {"answer": answer})


def answer_of(question):
    try:
        return question()
    except MemoryError:
        return {"failed": "it needs more memory than it may have", "kind": "too_large"}
    except RecursionError:
        return {"failed": "it recurses too deeply", "kind": "raises"}
    except Exception as error:  # noqa: BLE001
        if "allocate memory" in str(error):
            return {"failed": "it needs more memory than it may have", "kind": "too_large"}
        return {"failed": f"{type(error).__name__}: {error}"[:300], "kind": "unreadable"}
