#!/usr/bin/env python3
"""Cost of verification on a machine without a GPU, and of building the same programs with stock load_inline.

    bench/verification.py [--binary build/cpu/bin/bicrl] [--tasks infilling_tasks.json] [--programs 8]
                          [--synthetic synthetic.json] [--stock]

Core-seconds are the time that all cores of the machine were busy (/proc/stat), so boxes in namespaces of their own are
counted; the machine should be idle otherwise. A run's start (server, warm interpreters) is measured with one candidate
and subtracted. --stock needs nvcc, a C++ compiler and torch, and takes about a minute a program.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

BUILD = """
import sys, json, torch.utils.cpp_extension as extension
program = json.load(open(sys.argv[1]))
original = extension.load_inline
def build(*args, **kwargs):
    kwargs["build_directory"] = sys.argv[2]
    return original(*args, **kwargs)
extension.load_inline = build
extension._import_module_from_library = lambda *args, **kwargs: None  # built, not loaded: there may be no GPU
exec(compile(program, "candidate.py", "exec"), {"__name__": "candidate"})
"""


def busy_seconds():
    user, nice, system, _, _, irq, softirq, *_ = map(int, open("/proc/stat").readline().split()[1:])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def core_seconds(command, **kwargs):
    before = busy_seconds()
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, **kwargs)
    after = busy_seconds()
    if done.returncode != 0:
        sys.exit(f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    return after - before, time.monotonic() - start


def verify(binary, tasks, folder):
    source, report = f"{folder}/tasks.json", f"{folder}/verdicts.json"
    with open(source, "w") as file:
        json.dump(tasks, file)
    cores, seconds = core_seconds([binary, "verify", "--tasks", source, "--json", report])
    with open(report) as file:
        return cores, seconds, json.load(file)


def report_verification(name, binary, tasks, folder, start):
    cores, _, result = verify(binary, tasks, folder)
    each = (cores - start) / len(tasks)
    print(f"{name}: {len(tasks)} candidates, {result['outcomes']}, {result['candidates_per_second']:.1f} a second, "
          f"p50 {result['p50_ms']:.0f} ms, p95 {result['p95_ms']:.0f} ms, {each:.3f} core-seconds each", flush=True)
    return each


def stock(tasks, folder):
    environment = {**os.environ, "TORCH_CUDA_ARCH_LIST": "9.0", "MAX_JOBS": "2"}
    cores = 0
    for index, task in enumerate(tasks):
        program, build = f"{folder}/program.json", f"{folder}/build{index}"
        os.makedirs(build)
        with open(program, "w") as file:
            json.dump(task["cuda_code"], file)
        one, seconds = core_seconds([sys.executable, "-c", BUILD, program, build], env=environment)
        print(f"  load_inline, program {task['id']}: {one:.1f} core-seconds, {seconds:.1f} s", flush=True)
        cores += one
    return cores / len(tasks)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--binary", default="build/cpu/bin/bicrl")
    options.add_argument("--tasks", default="../shared/data/infilling_tasks.json")
    options.add_argument("--programs", type=int, default=8)
    options.add_argument("--synthetic", help="task file of the synthesiser: unique candidates for the rate")
    options.add_argument("--stock", action="store_true")
    options = options.parse_args()
    with open(options.tasks) as file:
        published = json.load(file)
    native = [t for t in published if "cublas" not in t["cuda_code"].lower() and "cudnn" not in t["cuda_code"].lower()]
    chosen = native[: options.programs]
    with tempfile.TemporaryDirectory() as folder:
        starts = [verify(options.binary, native[-1:], folder)[0] for _ in range(3)]
        start = sorted(starts)[1]
        print(f"start with one candidate: {start:.2f} core-seconds (median of 3)", flush=True)
        if options.synthetic:
            with open(options.synthetic) as file:
                report_verification("synthetic", options.binary, json.load(file), folder, start)
        report_verification("published", options.binary, native, folder, start)
        ours = report_verification(f"first {len(chosen)}", options.binary, chosen, folder, start)
        if options.stock:
            theirs = stock(chosen, folder)
            print(f"stock load_inline: {theirs:.1f} core-seconds a program; ratio {theirs / ours:.0f}x", flush=True)


if __name__ == "__main__":
    main()
