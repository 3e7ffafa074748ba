"""The operators that a task's reference runs, and whether torch.compile takes it."""
import torch

from task_recorder import Recorder
from task_reference import Raises, Reference, attempt, differs

TOLERANCE = 1e-3


def operators_of(code):
    """{"operators": [names]}: those below autograd that do work, in their order."""
    try:
        with torch.device("meta"):
            return {"operators": recorded(code)}
    except Exception:  # noqa: BLE001: not every module works without data
        return {"operators": recorded(code)}


def recorded(code):
    reference = Reference(code)
    leaves, spec = reference.inputs(1)
    recorder = Recorder(leaves, keep_values=False)
    with recorder:
        reference.run(leaves, spec)
    return [operator.name for operator in recorder.operators if operator.is_work]


def check_compile(code, backend):
    """{"compiled": true}, or {"refused": why}: it raises, or answers differently than in eager mode."""
    try:
        reference = Reference(code)
        leaves, spec = reference.inputs(1)
        expected = reference.run(leaves, spec)
        torch._dynamo.reset()
        compiled = attempt("torch.compile", lambda: torch.compile(reference.model, backend=backend))
        found = reference.run(leaves, spec, compiled)
    except Raises as error:
        return {"refused": str(error)}
    if differs(expected, found, TOLERANCE):
        return {"refused": "its answer differs from eager mode"}
    return {"compiled": True}
