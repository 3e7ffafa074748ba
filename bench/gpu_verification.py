#!/usr/bin/env python3
"""What a verification costs with a GPU: candidates a core-hour and a GPU-hour, with the instrumented run and without,
with times, on 1, 4 and 16 cores, beside the CPU executor.

    bicrl tasks configs/quickstart.yaml tasks.synthetic.train_compositions=1200 --write tasks
    bench/gpu_verification.py --tasks tasks/train.json --out build/speed.jsonl [--candidates 1024] [--cores 1,4,16]
                              [--modes ptx,gpu,alone,times,stock] [--group 1] [--vary names] [--binary build/cpu/bin/bicrl]
                              [key.path=value ...]

ptx: all runs by the PTX interpreter; gpu: plain runs on the GPU; alone: nearly all of them there (the machine's limit of work is 65,536
operations, `instrumented_run: where_possible`); times: as gpu, with a window for each program; stock: only to build them by stock load_inline
(torch and nvcc; a program for each core, since it takes a minute of one). `--modes ptx` needs no GPU. --group: of how many candidates
each task is the task, as in training; with 1 each has a reference of its own to be drawn from. --vary: what they differ in. names: of
kernels, so that device and host part are compiled anew; bodies: of kernels, with one host part, as where a scaffold is filled in. Each
combination is a line of --out as soon as it is there, and one that is there already is not run again. Core-seconds are those of
the container where there is one, else of the machine, which should be idle otherwise (or --shared); the start is measured with one
candidate and subtracted."""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from verification import BUILD

ON_GPU = ["verifier.server.backend=gpu"]
MODES = {"ptx": [],
         "gpu": ON_GPU,
         "alone": [*ON_GPU, "verifier.server.gpu.instrumented_run=where_possible", "verifier.server.limits.run_lane_operations=65536"],
         "times": [*ON_GPU, "verifier.server.gpu.measure_times=true"]}
PATIENCE = ["verifier.deadline_s=3600", "verifier.attempt_s=3600", "verifier.max_in_flight=256"]
STOCK_OF_A_CORE = 1  # programs
UNGROUPED = {"group": 1, "vary": "names"}  # what lines without it were
STAGES = ("compile_ms", "record_ms", "run_ms", "total_ms")


def busy_seconds(cores=()):
    """Of these cores; of none named, of the control group of this container, or of the machine."""
    v2, v1 = Path("/sys/fs/cgroup/cpu.stat"), Path("/sys/fs/cgroup/cpuacct/cpuacct.usage")
    if not cores and v2.exists():
        return int(dict(line.split() for line in v2.read_text().splitlines())["usage_usec"]) * 1e-6
    if not cores and v1.exists():
        return int(v1.read_text()) * 1e-9
    busy = {}
    for name, *ticks in map(str.split, open("/proc/stat")):
        if name.startswith("cpu"):
            user, nice, system, _, _, irq, softirq, *_ = map(int, ticks)
            busy[name] = (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")
    return sum(busy[f"cpu{core}"] for core in cores) if cores else busy["cpu"]


def verify(options, mode, cores, tasks):
    """(core-seconds, seconds, the report of `bicrl verify`)"""
    with tempfile.TemporaryDirectory() as folder:
        source, report = Path(folder, "tasks.json"), Path(folder, "verdicts.json")
        source.write_text(json.dumps(tasks))
        command = ["taskset", "-c", ",".join(map(str, cores)), options.binary, "verify", "--tasks", source, "--json", report,
                   *(["--profile"] if mode == "times" else []), *PATIENCE, *MODES[mode], *options.overrides]
        counted = cores if options.shared else ()
        before, start = busy_seconds(counted), time.monotonic()
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        spent, seconds = busy_seconds(counted) - before, time.monotonic() - start
        if not report.exists():
            sys.exit(f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
        return spent, seconds, json.loads(report.read_text())


def measure(options, mode, cores, tasks):
    start = min(verify(options, mode, cores, tasks[:1])[0] for _ in range(2))
    spent, _, report = verify(options, mode, cores, tasks)
    verdicts = report["verdicts"]
    each = max(spent - start, 1e-9) / len(tasks)
    quantiles = {stage: [round(q) for q in statistics.quantiles([v.get(stage, 0) for v in verdicts], n=20, method="inclusive")][9::9]
                 for stage in STAGES} if len(verdicts) > 1 else {}
    return {"mode": mode, "cores": len(cores), "candidates": len(tasks), "outcomes": report["outcomes"], "seconds": report["seconds"],
            "a_second": report["candidates_per_second"], "core_seconds_each": each, "a_core_hour": 3600 / each,
            "a_device_hour": 3600 * report["candidates_per_second"], "start_core_seconds": start, "p50_p95": quantiles,
            "timed": sum(v.get("candidate_ms", 0) > 0 for v in verdicts), "windows": windows_of(verdicts),
            "not_correct": [{**v, "measurement": ""} for v in verdicts if not v.get("correct")],
            "untimed_because": [v["diagnostics"] for v in verdicts
                                if mode == "times" and v.get("correct") and not v.get("candidate_ms")]}


def build(cores, task):
    with tempfile.TemporaryDirectory() as folder:
        program, place = Path(folder, "program.json"), Path(folder, "build")
        program.write_text(json.dumps(task["cuda_code"]))
        place.mkdir()
        return subprocess.run(["taskset", "-c", ",".join(map(str, cores)), sys.executable, "-c", BUILD, program, place],
                              env={**os.environ, "TORCH_CUDA_ARCH_LIST": "9.0", "MAX_JOBS": "1"}, capture_output=True).returncode


def measure_stock(options, cores, tasks):
    before, start = busy_seconds(cores if options.shared else ()), time.monotonic()
    with ThreadPoolExecutor(len(cores)) as pool:
        failed = sum(code != 0 for code in pool.map(lambda task: build(cores, task), tasks))
    each, seconds = (busy_seconds(cores if options.shared else ()) - before) / len(tasks), time.monotonic() - start
    return {"mode": "stock", "cores": len(cores), "candidates": len(tasks), "outcomes": {"built": len(tasks) - failed, "failed": failed},
            "seconds": seconds, "a_second": len(tasks) / seconds, "core_seconds_each": each, "a_core_hour": 3600 / each,
            "a_device_hour": 3600 * len(tasks) / seconds, "p50_p95": {}}


KERNEL = re.compile(r"__global__\s+(?:void\s+)?(?:__launch_bounds__\([^)]*\)\s*)?(?:void\s+)?(\w+)\s*\([^)]*\)\s*\{")


def in_groups(tasks, group, vary):
    """`group` candidates of each task: the task's program with other names of kernels, or with a test more in their bodies."""
    def varied(program, number):
        if vary == "bodies":
            return KERNEL.sub(lambda kernel: f"{kernel[0]} if (gridDim.z == {number + 2}) return;", program)
        for name in {kernel[1] for kernel in KERNEL.finditer(program)}:
            program = re.sub(rf"\b{name}\b", f"{name}_{number}", program)
        return program

    return [{"id": f"{task['id']}_{number}", "level": task["level"], "pytorch_code": task["pytorch_code"],
             "cuda_code": varied(task["cuda_code"], number)} for task in tasks for number in range(group)]


def windows_of(verdicts):
    """Medians over what was timed: pairs of a window, and the milliseconds of each of its stages."""
    measured = [json.loads(v["measurement"]) for v in verdicts if v.get("measurement")]
    if not measured:
        return {}
    stages = {stage: statistics.median(m[kind][stage] for m in measured) for kind in ("stages_ms", "window_ms")
              for stage in measured[0][kind]}
    return {"pairs": statistics.median(m["pairs"] for m in measured), **stages}


def show(row):
    stages = ", ".join(f"{stage.removesuffix('_ms')} {p50}/{p95}" for stage, (p50, p95) in row["p50_p95"].items())
    windows = "".join(f", {name} {value:g}" for name, value in row.get("windows", {}).items())
    print(f"{row['mode']:6} {row['cores']:3} cores: {row['candidates']} in groups of {row['group']} ({row['vary']}) in "
          f"{row['seconds']:.1f} s, {row['a_second']:.1f} a second, "
          f"{row['core_seconds_each']:.3f} core-seconds each ({row['a_core_hour']:.0f} a core-hour, {row['a_device_hour']:.0f} an hour of "
          f"the device); ms p50/p95: {stages}{'; windows:' + windows[1:] if windows else ''}; {row['outcomes']}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tasks", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--binary", default="build/cpu/bin/bicrl")
    parser.add_argument("--candidates", type=int, default=1024)
    parser.add_argument("--group", type=int, default=1)
    parser.add_argument("--vary", choices=("names", "bodies"), default="names")
    parser.add_argument("--cores", default="1,4,16")
    parser.add_argument("--modes", default="ptx,gpu,alone,times")
    parser.add_argument("--shared", action="store_true", help="other work runs on other cores: count what the used ones were busy")
    parser.add_argument("overrides", nargs="*")
    options = parser.parse_args()
    # A tenth of the compositions is withheld: those have no program.
    tasks = [task for task in json.loads(Path(options.tasks).read_text()) if task["cuda_code"]]
    tasks = tasks[:-(-options.candidates // options.group)]
    if options.group > 1:
        tasks = in_groups(tasks, options.group, options.vary)[:options.candidates]
    if len({task["cuda_code"] for task in tasks}) < options.candidates:
        sys.exit(f"{options.tasks} has fewer than {options.candidates} distinct candidates")
    out = Path(options.out)
    known = [UNGROUPED | json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    usable = sorted(os.sched_getaffinity(0))
    for mode in options.modes.split(","):
        for count in map(int, options.cores.split(",")):
            if count > len(usable):
                print(f"{mode:6} {count:3} cores: left out, there are {len(usable)}", flush=True)
                continue
            # One core for a thousand candidates takes long and says no more than a part of them does.
            part = tasks[:max(1, min(len(tasks), (STOCK_OF_A_CORE if mode == "stock" else 128) * count))]
            asked = {"mode": mode, "cores": count, "candidates": len(part), "group": options.group, "vary": options.vary}
            row = next((r for r in known if asked.items() <= r.items()), None)
            if not row:
                row = (measure_stock(options, usable[:count], part) if mode == "stock" else
                       measure(options, mode, usable[:count], part))
                row |= asked
                with out.open("a") as file:
                    file.write(json.dumps(row) + "\n")
            show(row)


if __name__ == "__main__":
    main()
