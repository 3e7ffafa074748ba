"""Smaller sizes of tasks: sizes_check.py FOLDER OF THE RUNTIMES [KernelBench's level 1]. What must hold of every variant is
looked for in its text and in runs of its reference, not in what the search says of itself."""
import io
import json
import sys
import tokenize

import torch

sys.path[:0] = [sys.argv[1], sys.argv[1] + "/sizes"]
import size_variants  # noqa: E402
from oracle_values import InvalidTask  # noqa: E402

torch.set_grad_enabled(False)
torch.set_num_threads(1)

TASK = """import torch, torch.nn as nn, torch.nn.functional as F
{constants}
class Model(nn.Module):
    def __init__(self{arguments}):
        super().__init__()
        {init}
    def forward(self, *x):
        return {forward}
def get_inputs():
    return [{inputs}]
def get_init_inputs():
    return [{given}]
"""


def task(constants, forward, inputs, init="pass", arguments="", given=""):
    return TASK.format(constants=constants.replace("; ", "\n"), forward=forward, inputs=inputs, init=init,
                       arguments=arguments and ", " + arguments, given=given)


def numbers_and_rest(text):
    tokens = [token.string for token in tokenize.generate_tokens(io.StringIO(text).readline)]
    return [t for t in tokens if t.isdigit()], [t for t in tokens if not t.isdigit() and t not in "*+-"]


def variants(text, by_hand=(), most=400_000):
    """(names of the module, inputs, answers) of each; what every variant has to be is checked here."""
    found = size_variants.find({"task_code": text, "by_hand": list(by_hand), "init_seed": 3})[0]["variants"]
    result = []
    for variant in found:
        assert numbers_and_rest(variant["code"])[1] == numbers_and_rest(text)[1], "more than constants has changed"
        names = {}
        exec(variant["code"], names)
        for name, value in variant["sizes"].items():
            if name in names:
                assert names[name] == value
        inputs = names["get_inputs"]()
        answer = names["Model"](*names["get_init_inputs"]())(*inputs)
        answers = [answer] if isinstance(answer, torch.Tensor) else list(answer)
        assert [list(x.shape) for x in inputs] == variant["inputs"]
        elements = sum(x.numel() for x in (*inputs, *answers))
        assert 0 < elements < most and all(x.numel() for x in answers)
        result.append((names, inputs, answers))
    assert len({json.dumps(v["sizes"]) for v in found}) == len(found)
    return result


def message(text, by_hand=()):
    try:
        size_variants.find({"task_code": text, "by_hand": by_hand, "init_seed": 3})
    except InvalidTask as error:
        return error.kind, str(error)
    return "", ""


def fault(text, by_hand=()):
    return message(text, by_hand)[0]


# ---- Elementwise: remainders of every block size, two tiles of threads at least, other sizes each time.
found = variants(task("batch_size = 4096; dim = 393216", "torch.relu(x[0])", "torch.rand(batch_size, dim)"))
assert len(found) >= 4
for _, (x,), (y,) in found:
    assert all(size > 16 and size % 16 for size in x.shape), x.shape
    assert x.numel() > 2 * 4096 and x.shape[0] != x.shape[1]
assert any(x.shape[1] > 2 * 4096 for _, (x,), _ in found) and any(x.shape[0] > 2 * 1024 for _, (x,), _ in found)
assert any(x.numel() % 2 for _, (x,), _ in found)

# ---- A reduction: each axis is long once.
found = variants(task("batch_size = 128; dim1 = 4096; dim2 = 4095", "x[0].sum(1)", "torch.rand(batch_size, dim1, dim2)"))
assert {axis for _, (x,), _ in found for axis in (1, 2) if x.shape[axis] > 2 * 1024} == {1, 2}

# ---- Kernel, stride, padding and groups stay; channels are multiples of groups.
text = task("batch = 16; channels = 128; outputs = 256; kernel = 5; stride = 2; groups = 4; size = 512", "self.conv(x[0])",
            "torch.rand(batch, channels, size, size)", "self.conv = nn.Conv2d(c, o, k, stride=s, padding=2, groups=g)",
            "c, o, k, s, g", "channels, outputs, kernel, stride, groups")
for names, (x,), (y,) in variants(text):
    assert (names["kernel"], names["stride"], names["groups"]) == (5, 2, 4)
    assert names["channels"] % 4 == 0 and names["channels"] > 4 and names["outputs"] % 4 == 0 and names["batch"] >= 2
    assert x.shape[2] == x.shape[3] > 16

# ---- A tuple scales inside, also where a name stands in it.
for _, (x,), _ in variants(task("features = 64; shape = (features, 2048, 2048)", "x[0] * 2", "torch.rand(64, *shape)")):
    assert x.dim() == 4 and x.shape[2] < 2048 and x.shape[3] < 2048 and 1 < x.shape[1] < 64

# ---- Names that one assignment binds.
for _, (x,), _ in variants(task("batch, channels, (width, height) = 64, 3, (4096, 5000)", "x[0] * 2",
                                "torch.rand(batch, channels, width, height)")):
    assert x.shape[1] == 3 and x.shape[2] < 4096 and x.shape[3] < 5000

# ---- Dictionaries of the module and of a class, nested ones and dict(), too.
for _, (x,), _ in variants(task('sizes = {"batch": 64, "image": {"channels": 3, "shape": (4096, 5000)}, "kernel": 5}', "x[0] * 2",
                                'torch.rand(sizes["batch"], sizes["image"]["channels"], *sizes["image"]["shape"])')):
    assert x.shape[1] == 3 and x.shape[2] < 4096 and x.shape[3] < 5000
for _, (x,), _ in variants(task("sizes = dict(rows=40000, columns=50000)", "x[0] * 2", "torch.rand(sizes['rows'], sizes['columns'])")):
    assert x.shape[0] < 40000 and x.shape[1] < 50000

# ---- Constants of classes: of one that holds sizes, of the reference itself, and of what its constructor assigns.
CLASS = """import torch
class Sizes:
    rows: int = 40000
    columns = 50000
class Model(torch.nn.Module):
    SIZE = 50000
    def __init__(self):
        super().__init__()
        self.size = 50000
        self.window = 32
    def forward(self, x):
        return {forward}
def get_inputs():
    return [torch.rand({inputs})]
def get_init_inputs():
    return []
"""
for _, (x,), _ in variants(CLASS.format(forward="x * 2", inputs="Sizes.rows, Sizes.columns")):
    assert x.shape[0] < 40000 and x.shape[1] < 50000
for size in ("self.SIZE", "self.size", "Model.SIZE"):
    for _, (x,), (y,) in variants(CLASS.format(forward=f"x * torch.arange({size})", inputs="40000, 50000")):
        assert x.shape == y.shape and x.shape[0] < 40000 and x.shape[1] < 50000
# What the class hard-codes and no size depends on stays.
for names, (x,), _ in variants(CLASS.format(forward="x.clamp(max=self.window)", inputs="Sizes.rows, Sizes.columns")):
    assert names["Model"]().window == 32

# ---- Constants of functions that get_inputs() calls, and of those that these call; of others not.
HELPERS = """import torch
class Model(torch.nn.Module):
    def forward(self, x, y):
        return scaled(x) + y
def scaled(x):
    return x * 4096
def columns():
    return 50000
def batch(rows=40000):
    return torch.rand(rows, columns())
def get_inputs():
    return [batch(), batch()]
def get_init_inputs():
    return []
"""
for names, (x, y), _ in variants(HELPERS):
    assert x.shape == y.shape and x.shape[0] < 40000 and x.shape[1] < 50000 and names["scaled"](1) == 4096

# ---- One long axis.
for _, (x,), _ in variants(task("n = 512 * 1048576", "torch.relu(x[0])", "torch.rand(n)")):
    assert 16 < x.shape[0] < 400_000

# ---- Equal constants: together where the reference only runs so, each by itself else.
for _, (p, t), _ in variants(task("batch_size = 32768; shape = (32768,)", "(1 - x[0] * x[1]).clamp(min=0).mean()",
                                  "torch.rand(batch_size, *shape), torch.rand(batch_size)")):
    assert p.shape[0] == p.shape[1] == t.shape[0]
for _, (a, b), _ in variants(task("M = 8192; N = 8192", "x[0][:, None] * x[1]", "torch.rand(N), torch.rand(N, M)")):
    assert b.shape[0] != b.shape[1]

# ---- One that is a small multiple of another: together where the reference only runs so.
text = task("batch = 64; length = 4096; width = 512; features = 1024", "self.norm(torch.cat([x[0], x[0] * x[0]], -1))",
            "torch.rand(batch, length, width)", "self.norm = nn.LayerNorm(f)", "f", "features")
for names, (x,), _ in variants(text):
    assert names["features"] == 2 * names["width"] < 1024 and x.shape[0] < 64 and x.shape[1] < 4096

# ---- Parameters and work that no constant makes smaller: the class's channels stay, and the rest is as small as it is else.
text = task("batch = 64; classes = 1000", "self.last(self.layers(x[0]).mean((2, 3)))", "torch.rand(batch, 3, 512, 512)",
            "self.layers = nn.Sequential(nn.Conv2d(3, 640, 3), nn.ReLU(), nn.Conv2d(640, 640, 3)); self.last = nn.Linear(640, n)",
            "n", "classes")
found = variants(text)
assert len(found) >= 2
for names, (x,), (y,) in found:
    assert names["Model"](names["classes"]).layers[2].weight.shape == (640, 640, 3, 3)
    assert 2 <= len(x) <= 5 and x.shape[1] == 3 and 4 < x.shape[2] < 40 and 4 < x.shape[3] < 40 and y.shape[1] < 1000
for variant in size_variants.find({"task_code": text, "by_hand": [], "init_seed": 3})[0]["variants"]:
    assert variant["lane_operations"] <= 6e8

# ---- A constructor that reads numbers of a tensor.
for names, (x,), _ in variants(task("rows = 40000; columns = 50000", "x[0] * self.steps[1]", "torch.rand(rows, columns)",
                                    "self.steps = [step.item() for step in torch.linspace(0, 1, 3)]")):
    assert x.shape[0] < 40000 and x.shape[1] < 50000 and names["Model"]().steps == [0, 0.5, 1]

# ---- What only values show: an index that has to stay below the number of rows of a table.
text = task("batch = 4096; length = 2048; vocabulary = 50000; width = 512", "self.table(x[0])",
            "torch.randint(0, 50000, (batch, length))", "self.table = nn.Embedding(v, w)", "v, w", "vocabulary, width")
for names, (x,), _ in variants(text):
    assert names["vocabulary"] > int(x.max())

# ---- Heads divide the width, and an assertion of the reference holds.
text = task("batch = 64; length = 4096; width = 768; heads = 12",
            "self.attend(x[0])", "torch.rand(batch, length, width)",
            "self.attend = nn.MultiheadAttention(w, h) and (lambda x: x.view(*x.shape[:2], h, w // h).sum(-1)) if w % h == 0 else None",
            "w, h", "width, heads")
for names, _, _ in variants(text):
    assert names["width"] % 12 == 0 and names["width"] < 768 and names["heads"] == 12

# ---- A text that takes its own size alone has no variants, and says so.
assert fault(task("n = 40000", "x[0] + 1 if x[0].shape[0] == 40000 else nothing", "torch.rand(n, n)")) == "too_large"
# ---- What the module's class hard-codes is its function, so that a variant may have more elements than usual.
for _, (x,), (y,) in variants(task("pass", "x[0].view(40000, -1)", "torch.rand(8, 5000, 40000)"), most=1_000_000):
    assert len(y) == 40000 and 1 < x.shape[2] < 20
assert fault(task("pass", "x[0].view(80000, -1).sum(1).view(80000, 1).expand(-1, 40000) * 2", "torch.rand(8, 10000, 4)")) != ""

# ---- By hand.
text = task("rows = 40000; columns = 50000", "x[0] + 1", "torch.rand(rows, columns)")
assert [list(x.shape) for _, (x,), _ in variants(text, [{"rows": 33, "columns": 70}, {"rows": 5}][:1])] == [[33, 70]]
# One that is none is named, with the reason; a valid one beside it does not hide it.
for sizes, kind, words in (({"lines": 3}, "missing", "'lines'"), ({"rows": 0, "columns": 5}, "raises", "from 1 on"),
                           ({"rows": "5"}, "raises", "from 1 on"), ({"rows": 1, "columns": 5}, "raises", "ranks, types or structure"),
                           ({"rows": 30000}, "too_large", "over the limit of 1024 MiB"), (7, "raises", "from 1 on")):
    found = message(text, [{"rows": 33, "columns": 70}, sizes])
    assert found[0] == kind and words in found[1] and "reduced_sizes" in found[1], found
assert message(text, [{"rows": 33}] * 33)[0] == message(text, {"rows": 33})[0] == "raises"
assert fault(task("rows = 40000; columns = 50000", "x[0] + 1 if len(x[0]) > 40 else nothing", "torch.rand(rows, columns)"),
             [{"rows": 40, "columns": 50}]) == "missing"
# Parameters count, and are not made before it is known what they take.
assert fault(task("width = 60000; rows = 40000", "x[0] @ self.w", "torch.rand(rows, width)", "self.w = nn.Parameter(torch.rand(w, w))",
                  "w", "width"), [{"rows": 5}]) == "too_large"
# A layer of 8,192 by 8,192, as many problems of KernelBench's level 2 have, is not too much for a recording at the own size.
for width, kind in ((8192, ""), (12288, "too_large")):
    found = message(task(f"batch = 1024; width = {width}", "self.layer(x[0])", "torch.rand(batch, width)", "self.layer = nn.Linear(w, w)", "w", "width"))
    assert found[0] == kind and (not kind or "its parameters take" in found[1]), found
# The first of them is what the task is examined at.
assert "rows = 33\n" in size_variants.fitting_text(text, 1 << 28, [{"rows": 33, "columns": 70}])
assert size_variants.fitting_text(text, 1 << 40, [{"rows": 33, "columns": 70}]) == text

# ---- KernelBench's level 1, where it is: all of it, and little work.
if len(sys.argv) > 2:
    with open(sys.argv[2]) as file:
        problems = json.load(file)
    little = 0
    for problem in problems:
        found = size_variants.find({"task_code": problem["pytorch_code"], "by_hand": [], "init_seed": 3})[0]["variants"]
        assert len(found) >= 2, problem["name"]
        little += max(v["lane_operations"] for v in found) <= 1e8
    assert len(problems) == 100 and little >= 92, little
print("ok")
