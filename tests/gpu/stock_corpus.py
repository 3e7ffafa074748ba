#!/usr/bin/env python3
"""What stock PyTorch and a GPU say of a corpus: builds each program with load_inline and compares it with its reference.
    tests/gpu/stock_corpus.py FOLDER OUT.json [--jobs 16] [--seconds 540] [--only TEXT]
FOLDER holds NAME.py and tasks/TASK.py (tests/honest). Trusted programs only: they run without a box. A program is right if
every output is within 1e-3 of its scale of the reference in fp64, on three draws. Needs nvcc, a GPU and torch with CUDA."""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "corpora"))
from expand import read_program  # noqa: E402

CHILD = r"""
import copy, json, sys, torch
program, task = open(sys.argv[1]).read(), open(sys.argv[2]).read()
def names_of(text, file):
    names = {"__name__": "module", "__file__": file}
    exec(compile(text, file, "exec"), names)
    return names
def to(x, device, wide=False):
    if isinstance(x, torch.Tensor):
        x = x.to(device)
        return x.double() if wide and x.is_floating_point() else x
    return type(x)(to(v, device, wide) for v in x) if isinstance(x, (list, tuple)) else x
def leaves(x):
    if isinstance(x, torch.Tensor): return [x]
    if isinstance(x, dict): x = list(x.values())
    return [l for v in x for l in leaves(v)] if isinstance(x, (list, tuple)) else []
torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
reference, candidate = names_of(task, sys.argv[2]), names_of(program, sys.argv[1])
init = reference["get_init_inputs"]()
torch.manual_seed(3); model = reference["Model"](*init)
torch.manual_seed(3); ours = candidate["ModelNew"](*init).cuda()
torch.manual_seed(3); wide = copy.deepcopy(model).double()
worst = 0.0
with torch.no_grad():
    for seed in range(3):
        torch.manual_seed(100 + seed)
        inputs = reference["get_inputs"]()
        got = leaves(ours(*to(copy.deepcopy(inputs), "cuda")))
        try:
            want = leaves(wide(*to(copy.deepcopy(inputs), "cpu", True)))
        except Exception:
            want = leaves(model(*copy.deepcopy(inputs)))
        torch.cuda.synchronize()
        assert len(got) == len(want), "another number of outputs"
        for g, w in zip(got, want):
            g, w = g.cpu(), w
            assert g.shape == w.shape, f"shape {tuple(g.shape)} for {tuple(w.shape)}"
            if not g.is_floating_point():
                worst = max(worst, float((g != w.to(g.dtype)).double().mean() > 0.001) * 9.0)
                continue
            scale = w.double().abs().mean().clamp(min=1e-30)
            eps = {torch.float16: 4e-3, torch.bfloat16: 3e-2}.get(g.dtype, 1e-3)
            off = (g.double() - w.double()).abs() / (eps * (scale + w.double().abs()))
            off = torch.where(g.double() == w.double(), torch.zeros_like(off), off)
            worst = max(worst, float(torch.nan_to_num(off, 9e9).max()) if off.numel() else 0.0)
print(json.dumps({"worst": worst}))
"""


def run(folder, name, cache, deadline):
    text, program = read_program(folder / f"{name}.py"), Path(cache, f"{name}.py")
    program.write_text(text)
    task = re.search(r"^# task: (\S+)", text, re.M).group(1)
    environment = {**os.environ, "TORCH_EXTENSIONS_DIR": f"{cache}/{name}", "TORCH_CUDA_ARCH_LIST": "9.0", "MAX_JOBS": "2"}
    left = deadline - time.monotonic()
    if left < 20:
        return name, {"left_out": True}
    began = time.monotonic()
    try:
        done = subprocess.run([sys.executable, "-c", CHILD, str(program), str(folder / f"tasks/{task}.py")],
                              capture_output=True, text=True, timeout=left, env=environment)
    except subprocess.TimeoutExpired:
        return name, {"left_out": True}
    seconds = round(time.monotonic() - began, 1)
    if done.returncode:
        words = [l for l in (done.stdout + done.stderr).splitlines() if "error" in l.lower()]
        return name, {"right": False, "seconds": seconds, "error": " | ".join(words[-4:])[-600:] or done.stderr[-300:]}
    worst = json.loads(done.stdout.strip().splitlines()[-1])["worst"]
    return name, {"right": worst <= 1, "worst": worst, "seconds": seconds}


parser = argparse.ArgumentParser()
parser.add_argument("folder", type=Path)
parser.add_argument("out", type=Path)
parser.add_argument("--jobs", type=int, default=16)
parser.add_argument("--seconds", type=float, default=540)
parser.add_argument("--only", default="")
parser.add_argument("--part", default="0/1", help="I/N: every Nth program from the Ith on")
arguments = parser.parse_args()
part, parts = map(int, arguments.part.split("/"))
names = sorted(p.stem for p in arguments.folder.glob("*.py") if arguments.only in p.stem)[part::parts]
deadline = time.monotonic() + arguments.seconds
with tempfile.TemporaryDirectory() as cache, ThreadPoolExecutor(arguments.jobs) as pool:
    found = dict(pool.map(lambda name: run(arguments.folder.resolve(), name, cache, deadline), names))
arguments.out.write_text(json.dumps(found, indent=1))
right = sum(bool(v.get("right")) for v in found.values())
print(f"{right} right, {sum(v.get('right') is False for v in found.values())} not, "
      f"{sum('left_out' in v for v in found.values())} left out of {len(found)}")
for name, value in found.items():
    if value.get("right") is False:
        print(name, value)
