"""Answers one question about a task's code, in a box: what is wrong with it, how it is written, or what it computes."""
import socket
import sys

import torch  # noqa: F401: warm before the first fork

from frames import receive, say
from oracle_values import InvalidTask
from size_variants import fitting_text
from task_checks import examine
from task_composer import compose
from task_fingerprint import decompositions, read_function
from task_operators import check_compile, operators_of
from task_reference import Raises
from task_shapes import find_variants, fit_to_time
from task_tree import read_tree

MOST_BYTES = 256 << 20  # of inputs, parameters and answer: a task that is larger is examined at a smaller size


def warm_up():
    """Imports what the first question would, and makes torch's tables."""
    decompositions()
    check_compile(SMALL, "aot_eager")
    examine(SMALL)


SMALL = ("import torch\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return torch.relu(x) + 1\n"
         "def get_inputs():\n    return [torch.randn(4, 4)]\n")


def run(fd):
    channel = socket.socket(fileno=fd)
    request, _ = receive(channel)
    sys.setrecursionlimit(3000)
    question = QUESTIONS[request["kind"]]
    say(channel, {"answer": answer_of(lambda: question(request))})


def examine_fitting(code, by_hand):
    """`by_hand`: sizes to be examined at if the task's own is too large; those at which it is no task are a defect of its own."""
    try:
        return examine(fitting_text(code, MOST_BYTES, by_hand))
    except InvalidTask as fault:
        return {"defects": [{"kind": "raises", "message": str(fault)}], "unchecked": [], "fingerprints": []}


QUESTIONS = {
    "examine": lambda r: examine_fitting(r["code"], r.get("reduced_sizes")),
    "tree": lambda r: read_tree(r["code"], r["shapes"]),
    "function": lambda r: read_function(r["code"], r["shapes"]),
    "operators": lambda r: operators_of(r["code"]),
    "compile": lambda r: check_compile(r["code"], r["backend"]),
    "compose": lambda r: compose(r["places"], r["seed"]),
    "variants": lambda r: find_variants(r["code"], r["count"], r["factors"], r["seed"], r["most_elements"]),
    "time": lambda r: fit_to_time(r["code"], r["least_ms"], r["most_ms"], r["clock"], r["most_bytes"]),
}


def answer_of(question):
    try:
        return question()
    except MemoryError:
        return {"failed": "it needs more memory than it may have", "kind": "too_large"}
    except RecursionError:
        return {"failed": "it recurses too deeply", "kind": "raises"}
    except Raises as error:
        return {"failed": str(error), "kind": "raises"}
    except Exception as error:  # noqa: BLE001
        if "allocate memory" in str(error):
            return {"failed": "it needs more memory than it may have", "kind": "too_large"}
        return {"failed": f"{type(error).__name__}: {error}"[:300], "kind": "unreadable"}
