#!/usr/bin/env python3
"""Makes tasks and programs for bench/many_gpus/whole_step.py: what weights that nothing has trained cannot write.

    bicrl tasks configs/quickstart.yaml tasks.synthetic.train_compositions=1200 --write SYNTHETIC
    bench/many_gpus/bench_programs.py OUT SYNTHETIC/train.json [PUBLISHED.json ...] [--tasks 640] [--programs 8] [--seed 1]

Writes OUT/tasks.json and OUT/programs.json ("bench.programs"): of each task a list of distinct programs, of which every other one is
changed in one place of its kernels. The first of these leaves a block out, so that a group has correct and incorrect programs.
Kernels of each have names of their own: nothing of one program is compiled for another. Published tasks come first in the draw: all of
them that have a program are among the tasks.
"""
import argparse
import json
import random
import re
from pathlib import Path

KERNEL = re.compile(r"__global__\s+(?:void\s+)?(?:__launch_bounds__\([^)]*\)\s*)?(?:void\s+)?(\w+)\s*\([^)]*\)\s*\{")
CHANGES = [("blockIdx.x", "(blockIdx.x + 1)"), (" < ", " <= "), ("__syncthreads();", ""), (" + ", " - "), ("0.0f", "1.0f"), (" * ", " + "), ("fmaxf", "fminf")]


def changed(program, number):
    """The `number`-th change that can be made behind the first kernel's head; None if there is none."""
    kernel = KERNEL.search(program)
    begin = kernel.end() if kernel else 0
    possible = [change for change in CHANGES if change[0] in program[begin:]]
    if not possible:
        return None
    before, after = possible[number % len(possible)]
    return program[:begin] + program[begin:].replace(before, after, 1)


def renamed(program, number):
    for name in {kernel[1] for kernel in KERNEL.finditer(program)}:
        program = re.sub(rf"\b{name}\b", f"{name}_{number}", program)
    return program


def programs_of(code, count):
    programs = []
    for number in range(count):
        text = code if number % 2 == 0 else changed(code, number // 2)
        programs.append(None if text is None else renamed(text, number))
    return programs


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("synthetic")
    parser.add_argument("published", nargs="*")
    parser.add_argument("--tasks", type=int, default=640)
    parser.add_argument("--programs", type=int, default=8, help="distinct ones of a task: half of a group's samples")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()

    published, synthetic = [], []
    for number, path in enumerate(options.published):
        published += [{**task, "id": f"published_{number}_{task.get('id', task.get('idx'))}"} for task in json.loads(Path(path).read_text())]
    synthetic = [{**task, "id": f"synthetic_{number}"} for number, task in enumerate(json.loads(Path(options.synthetic).read_text()))]
    random.Random(options.seed).shuffle(synthetic)
    tasks, programs = [], {}
    for task in published + synthetic:
        found = programs_of(task.get("cuda_code") or "", options.programs)
        if len(tasks) < options.tasks and KERNEL.search(task.get("cuda_code") or "") and None not in found and len(set(found)) == len(found):
            tasks.append({key: task[key] for key in ("id", "level", "pytorch_code", "cuda_code", "prefix", "middle", "suffix") if key in task})
            programs[f"tasks:{task['id']}"] = found  # a run names tasks by file and id
    random.Random(options.seed).shuffle(tasks)
    out = Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    (out / "tasks.json").write_text(json.dumps(tasks))
    (out / "programs.json").write_text(json.dumps(programs))
    print(f"{len(tasks)} tasks, {sum(task['id'].startswith('published') for task in tasks)} of them published, {options.programs} programs each")


if __name__ == "__main__":
    main()
