"""References at a task's own size: own_size_check.py FOLDER OF THE RUNTIMES. On the CPU, where the same code runs in place of a
device's: what is expected in slices and whole, holes in inputs, and the judge's rules for single elements."""
import math
import sys
import types

import torch

sys.path[:0] = [sys.argv[1], sys.argv[1] + "/own_size", sys.argv[1] + "/sizes"]
import own_expected  # noqa: E402
import own_size  # noqa: E402
from own_expected import Shown, compare_leaf  # noqa: E402
from own_size import NoRoomNow, NotGradable, OwnSizeTask, equal_bytes  # noqa: E402
from oracle_values import leaves  # noqa: E402
from size_probe import Probe  # noqa: E402
from oracle_reference import Reference  # noqa: E402

torch.set_grad_enabled(False)
torch.set_num_threads(1)

TASK = """import torch, torch.nn as nn
rows = {rows}
columns = {columns}
class Model(nn.Module):
    def forward(self, x):
        return {forward}
def get_inputs():
    return [{inputs}]
def get_init_inputs():
    return []
"""


def text(forward, rows, columns, inputs="torch.rand(rows, columns)"):
    return TASK.format(forward=forward, rows=rows, columns=columns, inputs=inputs)


def opened(forward, inputs="torch.rand(rows, columns)", rows=64, columns=1100, code=text):
    given, variants = code(forward, rows, columns, inputs), [code(forward, 7, 31, inputs), code(forward, 5, 52, inputs)]
    reference = Reference(given, 0)
    reference.find_arguments()
    probe = Probe(reference)
    leaves_of_input, end = [], 0
    for leaf in probe.inputs:
        size = 4 * math.prod(leaf["shape"])
        leaves_of_input.append({"offset": end, "bytes": size, **leaf})
        end += (size + 255) // 256 * 256
    plan = {"inputs": probe.inputs, "answer": probe.answer, "init_seed": 5, "secret": 1, "policy": "profile", "flush_bytes": 1 << 20,
            "input_bytes": end, "leaves": leaves_of_input}
    task = OwnSizeTask(plan, given, variants, torch.device("cpu"))
    task.prepare()
    return task


def classes(task, change=lambda x: x, test_input=None):
    found = []
    for number in range(2) if test_input is None else (test_input,):
        x = task.views(task.regions[number])[0].clone()
        found.append([one[0] for one in task.expected.compare(number, leaves(task.reference.forward([change(x)])[0]))])
    return found


def hole(places, first=0):
    def change(x):
        x[:, first:first + places] = 0
        return x
    return change


def check_cuts():
    for forward, cut in (("x.sum(-1)", [0]), ("torch.relu(x)", [0]), ("x - x.mean()", []), ("x.sum(0)", []), ("x @ x.T", [])):
        assert Shown([text(forward, 7, 31), text(forward, 5, 52)], 0).cut == cut, forward
    assert Shown([text("x.mul_(2)", 7, 31)], 0).writes and not Shown([text("torch.relu(x)", 7, 31)], 0).writes


def check_holes():
    for forward in ("(x * x).sum(-1)", "torch.softmax(x, -1)", "torch.logsumexp(x, -1)", "x.cumsum(-1)"):
        task = opened(forward)
        assert classes(task) == [[""], [""]], forward
        # A thousandth of the axis, wherever it is, shows on one test input at least.
        for first in (0, 700, 1098):
            assert any(one[0] for one in classes(task, hole(2, first))), (forward, first)
        assert not task.remark, task.remark
        task.close()
    assert classes(opened("x.argmin(-1)")) == [[""], [""]]
    assert "an axis of input 0 may be left out unseen" in opened("torch.cumprod(x, -1)").remark


def two_inputs(forward, rows, columns, inputs):
    return text(forward, rows, columns, inputs).replace("forward(self, x)", "forward(self, x, y)")


def check_holes_of_each_input():
    """Every input counts, by its longest axis that is not cut."""
    def remark(forward, inputs):
        task = opened(forward, inputs, code=two_inputs)
        found = task.remark
        task.close()
        return found

    both = "torch.rand(rows, columns), torch.rand(columns, rows)"
    assert not remark("x @ y", both), remark("x @ y", both)
    # A maximum of all elements hardly ever lies in the last thousandth, and hides nothing of the other input.
    alike = "torch.rand(rows, columns), torch.rand(rows, columns)"
    assert "an axis of input 0 may be left out" in remark("x.max() + y.sum(-1)", alike)
    assert "an axis of input 1 may be left out" in remark("x.sum(-1) + y.max()", alike)
    assert "an axis of inputs 0, 1 may be left out" in remark("x.max() + y.max()", alike)
    assert "input 0" in opened("x.max()").remark


def check_slices():
    """Allowances of an element do not depend on how the axis is cut: it has statistics of its own."""
    whole = opened("torch.tanh(x) * x.sum(-1, keepdim=True)")
    kept = own_expected.SLICE_BYTES
    own_expected.SLICE_BYTES = 4 * 1100 * 10
    try:
        cut = opened("torch.tanh(x) * x.sum(-1, keepdim=True)")
    finally:
        own_expected.SLICE_BYTES = kept
    # The first test input: places of the second depend on how many were drawn before.
    assert torch.allclose(whole.expected.centers[0][0], cut.expected.centers[0][0], rtol=1e-6)
    ratio = cut.expected.allowed[0][0] / whole.expected.allowed[0][0]
    assert 0.5 < float(ratio.min()) and float(ratio.max()) < 2, (float(ratio.min()), float(ratio.max()))


def check_inputs():
    task = opened("x.sum(-1)", "torch.softmax(torch.randn(rows, columns), -1)")
    plain, heavy = (task.views(region)[0] for region in task.regions)
    assert torch.allclose(heavy.sum(-1), torch.ones(64), atol=1e-4)
    assert float(heavy.max(-1).values.mean()) > 3 * float(plain.max(-1).values.mean())
    ordered = opened("x.sum(-1)", "torch.rand(rows, columns).sort().values")
    assert "mass" in ordered.remark
    try:
        opened("x.sum(-1)", "torch.ones(rows, columns)")
        raise AssertionError("constant inputs")
    except NotGradable:
        pass


def check_pieces():
    """Whatever lies in which of several pieces, and however near to the allowance."""
    kept, own_expected.COMPARED = own_expected.COMPARED, 4
    try:
        want, allowed = torch.zeros(11), torch.full((11,), 0.5)
        for place in range(11):
            for value, expected in ((0.5, ""), (float(torch.nextafter(torch.tensor(0.5), torch.tensor(1.0))), "wrong_value"), (2.0, "wrong_value"),
                                    (-2.0, "wrong_value"), (float("nan"), "non_finite"), (float("-inf"), "non_finite")):
                got = torch.zeros(11)
                got[place] = value
                assert compare_leaf(got, want, allowed)[0] == expected, (place, value)
                got[(place + 5) % 11] = 3.0
                assert compare_leaf(got, want, allowed)[0] == (expected or "wrong_value"), (place, value)
                assert compare_leaf(got, want, allowed, whole=False)[0]
        assert compare_leaf(torch.zeros(0), torch.zeros(0), torch.zeros(0)) == ("", 0.0)
        assert compare_leaf(torch.full((11,), 0.25), want, allowed) == ("", 0.5)
    finally:
        own_expected.COMPARED = kept


def check_rules():
    """As the judge has them (test_judge.cpp)."""
    inf, nan = float("inf"), float("nan")
    one = torch.tensor
    for got, want, allowed, expected in (
            ([1.0, 2.0], [1.0, 2.5], [0.1, 0.6], ""), ([1.0, 2.0], [1.0, 2.5], [0.1, 0.4], "wrong_value"),
            ([nan, 1.0], [nan, 1.0], [0.1, 0.1], ""), ([nan, 1.0], [1.0, 1.0], [0.1, 0.1], "non_finite"),
            ([inf, 1.0], [inf, 1.0], [0.1, 0.1], ""), ([-inf, 1.0], [inf, 1.0], [0.1, 0.1], "wrong_value"),
            ([7.0, 1.0], [inf, 1.0], [0.1, 0.1], "wrong_value"), ([7.0, nan], [1.0, 1.0], [inf, inf], ""),
            ([1.0, 1.0], [1.0, 1.0], [0.0, 0.0], ""), ([1.0, 1.1], [1.0, 1.0], [0.0, 0.0], "wrong_value")):
        for dtype in (torch.float32, torch.float64):
            found = compare_leaf(one(got, dtype=dtype), one(want, dtype=dtype), one(allowed))
            assert found[0] == expected, (got, want, allowed, found)
            assert bool(compare_leaf(one(got, dtype=dtype), one(want, dtype=dtype), one(allowed), whole=False)[0]) == bool(expected)
    for size in (5, 64, 1003):
        memory = torch.randint(0, 256, (size,), dtype=torch.uint8)
        other = memory.clone()
        assert equal_bytes(memory, other)
        other[-1] ^= 1
        assert not equal_bytes(memory, other)
    integers = one([1, 2, 3])
    assert compare_leaf(integers, integers.clone(), one([False, False, False]))[0] == ""
    assert compare_leaf(integers, one([1, 2, 4]), one([False, False, False]))[0] == "wrong_value"
    assert compare_leaf(integers, one([1, 2, 4]), one([False, False, True]))[0] == ""


def check_memory():
    """What others have of a device passes, and is nothing of the task's; no test input is left behind where there is no second."""
    task = opened("x.sum(-1)")
    task.close()
    task.device = types.SimpleNamespace(type="cuda")
    kept, torch.cuda.mem_get_info = torch.cuda.mem_get_info, lambda device: (1 << 30, total)
    try:
        for total, expected in ((2 << 30, NoRoomNow), ((1 << 30) + (1 << 20), NotGradable)):
            try:
                task.find_memory()
                raise AssertionError(f"1 GiB free of {total}")
            except (NoRoomNow, NotGradable) as why:
                assert type(why) is expected and "1 are free" in str(why), why
    finally:
        torch.cuda.mem_get_info = kept
    made, kept = [], own_size.SharedMemory

    def first_alone(*arguments):
        if made:
            raise RuntimeError("no second one")
        made.append(kept(*arguments))
        return made[0]

    task.device, task.regions, own_size.SharedMemory = torch.device("cpu"), [], first_alone
    try:
        task.sample_inputs()
        raise AssertionError("one test input")
    except RuntimeError:
        assert task.regions == made
    finally:
        own_size.SharedMemory = kept
    task.close()


for check in (check_cuts, check_rules, check_pieces, check_inputs, check_slices, check_holes, check_holes_of_each_input,
              check_memory):
    check()
