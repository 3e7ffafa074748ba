"""Runs a task's reference in a box of its own: inputs from secret seeds, what the reference answers in fp64, how far a
correct program may be from that, and how long the reference takes. Called in a child of the oracle's warm interpreter.
No candidate code ever runs in this process.

request   {"kind": "task", "task_code", "costing": bool, "init_seed", "secret", "least_inputs", "most_inputs",
           "max_input_bytes", "max_output_bytes", "most_lane_operations", "most_ordinary_operations" (may be null or absent),
           "pool_bytes", "tf32": bool}; "costing": with the inputs of
          get_costing_inputs(), and test inputs of two kinds instead of four
          {"kind": "unread", "task_code", "init_seed", "unread": [[leaf, begin, end]...]} + of each input leaf of a test input its
          storage, of each output leaf its allowance: see oracle_unread.py; the only reply is {"kind": "unread", "decides": bool}
          {"kind": "sizes", "task_code", "init_seed", "by_hand": [{name of a constant: value}...]}: see size_variants.py; the only
           reply is {"kind": "sizes", "inputs", "arguments", "parameters", "has_costing_inputs", "ignores_mode" as in "spec", of the task's own size,
           "answer": spec, "input_bytes", "output_bytes", "parameter_bytes", "lane_operations", "operators" as in "done",
           "variants": [{"code", "sizes": {name: value}, "long": bool, "inputs": [shape...], "input_bytes", "output_bytes",
           "lane_operations"}...]} + bytes of the arguments' tensors, or "fault"
replies   {"kind": "spec", "inputs": [spec...], "arguments": spec, "parameters": [...], "has_costing_inputs": bool,
           "costing_repeats": number, "ignores_mode": bool} + bytes of the arguments' tensors; "arguments" is what arguments.pack() makes of the
          constructor's, "parameters" what parameters.plan() says
          {"kind": "test_input", "family", "round", "returned": spec, "input_leaves"} + of each input leaf its storage, of each
          output leaf its center, its allowance, and with "tf32" its allowance under that policy
          {"kind": "again"}: the test inputs until then are none; others follow
          {"kind": "done", "eager_ms": [...], "trivial": [bool of each output leaf],
           "written_inputs", "long_inputs": [bool of each input leaf], "faults": [{"kind", "message", and "is_vacuous": true}],
           "operators": {"eager", "fused": as oracle_operators.py says, "least_bytes"}}
          {"kind": "fault", "fault", "message"}: the task itself is at fault, and has no answers
"""
import ctypes
import socket

import torch

import size_variants
from frames import receive, say
from oracle_checks import FEWEST_FINITE, Findings
from oracle_pool import Pool
from oracle_reference import Reference
from oracle_unread import decides
from oracle_values import InvalidTask, describe, leaves, span_bytes

IMAGINED_BYTES = 8 << 20
IMAGINED_PLANE = 1 << 24  # two axes of so many places together, in which an answer may be far larger than the inputs
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of mallopt()


WARM_UP_TASK = """
import torch, torch.nn as nn, torch.nn.functional as F
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(8, 3))
    def forward(self, x, y):
        z = self.layers(x)
        return F.softmax(z, -1) @ z.t() + y.sum(), z.argmax(-1)
def get_inputs():
    return [torch.randn(4, 1, 4, 4), torch.rand(4)]
def get_init_inputs():
    return []
"""


class Nowhere:
    def sendall(self, data):
        pass


def warm_up():
    """First uses load code and make tables: a task answered here, children find them made."""
    keep_freed_memory()
    mebibyte = 1 << 20
    with torch.no_grad():
        answer(Nowhere(), {"task_code": WARM_UP_TASK, "costing": False, "init_seed": 0, "secret": "", "least_inputs": 4,
                           "most_inputs": 4, "max_input_bytes": mebibyte, "max_output_bytes": mebibyte,
                           "most_lane_operations": mebibyte, "pool_bytes": mebibyte, "tf32": True})


def keep_freed_memory():
    """Large tensors come and go here; to get each from the kernel anew takes longer than to fill it."""
    libc = ctypes.CDLL(None)
    libc.mallopt(M_MMAP_THRESHOLD, 1 << 30)
    libc.mallopt(M_TRIM_THRESHOLD, 1 << 30)


def run(fd):
    channel = socket.socket(fileno=fd)
    request, blobs = receive(channel)
    try:
        with torch.no_grad():
            if request["kind"] == "unread":
                reference = Reference(request["task_code"], request["init_seed"])
                say(channel, {"kind": "unread", "decides": decides(reference, blobs, request["unread"])})
            elif request["kind"] == "sizes":
                say(channel, *size_variants.find(request))
            else:
                answer(channel, request)
    except InvalidTask as fault:
        say(channel, {"kind": "fault", "fault": fault.kind, "message": str(fault)})
    except MemoryError:
        say(channel, {"kind": "fault", "fault": "too_large",
                      "message": "the reference needs more memory than the oracle's limit"})


def answer(channel, request):
    reference = Reference(request["task_code"], request["init_seed"], request["costing"])
    pool = Pool(reference, request)
    send_spec(channel, request, reference, pool)
    findings, passes = settle(channel, pool)
    faults = findings.faults()
    if passes:
        kind, message = ("trivial", f"right without computing anything: {passes[:200]}") if findings.depends else (
            "blind", "its answer does not depend on any input")
        faults = [{"kind": kind, "message": message, "is_vacuous": True}]
    say(channel, {"kind": "done", "eager_ms": reference.times_ms[1:], "trivial": findings.without_computing(),
                  "written_inputs": pool.written, "long_inputs": pool.long_inputs(), "faults": faults,
                  "operators": reference.operators})


def settle(channel, pool):
    """Sends test inputs until they are such that the task can be graded on them, if any are; their findings, and what passes on
    all of them without computing anything."""
    while True:
        try:
            findings = send_test_inputs(channel, pool)
            # relu() of what is never negative passes what copies; with other inputs it may be told from that.
            passes = findings.passes(pool)
            if not passes or not pool.test_inputs.widen():
                return findings, passes
        except InvalidTask:
            # The reference may take what the task gives and not, now and then, what is drawn in its place.
            if not pool.test_inputs.demote():
                raise
        say(channel, {"kind": "again"})


def send_test_inputs(channel, pool):
    pool.first_look()
    findings = Findings()
    for name in pool.kinds:
        kind = pool.kind(name)
        findings.add(kind, pool.depends)
        for number, test_input in enumerate(kind.kept):
            say(channel, {"kind": "test_input", "family": name, "round": number, "returned": describe(test_input.returned),
                          "input_leaves": len(test_input.leaves)}, test_input.blobs())
    if findings.finite < FEWEST_FINITE:
        raise InvalidTask("not_finite", "the reference's answer is not finite on any draw")
    return findings


def may_be_long(inputs):
    axes = sorted(size for leaf in inputs for size in leaf.shape)
    return sum(map(span_bytes, inputs)) > IMAGINED_BYTES or (len(axes) > 1 and axes[-1] * axes[-2] > IMAGINED_PLANE)


def send_spec(channel, request, reference, pool):
    """Sends the shapes of the inputs and the sampled parameters. A task whose inputs or outputs are too large fails before
    anything is sent, so that nobody runs a program on it: what that runs into would not be the program's fault."""
    reference.find_arguments()
    imagined = reference.imagined_inputs()
    if imagined is not None:
        reference.check_input_bytes(imagined, request["max_input_bytes"])
    sampled = reference.build()
    # To imagine a forward pass imports half of torch: worth it only if the pass itself could take long.
    if imagined is not None and may_be_long(leaves(imagined)):
        outputs, operations = reference.imagined_outputs(imagined)
        reference.check_output_bytes(outputs, request["max_output_bytes"])
        reference.check_ordinary_work(operations, request.get("most_ordinary_operations"))
    inputs = pool.test_inputs.plain()
    reference.check_input_bytes(inputs, request["max_input_bytes"])
    reference.described = [describe(x) for x in inputs]
    say(channel, {"kind": "spec", "inputs": reference.described, "arguments": reference.arguments, "parameters": sampled,
                  "has_costing_inputs": reference.has_costing_inputs, "costing_repeats": reference.costing_repeats,
                  "ignores_mode": reference.ignores_mode()},
        reference.argument_bytes)
