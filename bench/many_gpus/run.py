#!/usr/bin/env python3
"""Everything that is measured on the GPUs of one host: FSDP2 beside our updates, whole steps with a rank killed and resumed, whole steps of
8B, switches of memory, and a placement that is chosen. One table at the end. On four H100 it is expected to take 22 minutes.

    bench/many_gpus/run.py OUT [--gpus 4] [--build build/cuda] [--tokenizer FOLDER] [--data FOLDER] [--only NAME ...] [--budget 1500]
    bench/many_gpus/run.py OUT --device cpu --gpus 2 --build build/cpu          the same flow with tiny policies on CPU ranks
    bench/many_gpus/run.py OUT --prepare                                        only OUT/data, which needs no GPU
    bench/many_gpus/run.py OUT --table                                          the table of what lies in OUT

Each part has a limit, after which all that it has started is ended. No part begins with less time left than that. A part whose result lies
in OUT is not run again; one that was cut short begins anew. So where a command may last ten minutes only, call it several times with
`--budget 560` and the same OUT, until the table says `done` everywhere. OUT needs some 120 GB, and must stay from call to call.
OUT/NAME.log has what a part printed, OUT/NAME.json its command, its seconds and its figures.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from host_parts import HERE, PYTHON, parts_of
from processes import end_all

SOURCE = HERE.parents[1]
TOKENIZER = SOURCE / "shared" / "data" / "sdar-8b"
PUBLISHED = [SOURCE / "shared" / "data" / "infilling_tasks.json"]
# Within which a part that has reached its limit ends by itself.
ASKED_S = 20


def prepare(options):
    """Tasks and programs of the benches of whole steps."""
    data = options.data or options.out / "data"
    if (data / "programs.json").exists():
        return
    on_cpu = options.device == "cpu"
    commands = [[options.build / "bin" / "bicrl", "tasks", "configs/quickstart.yaml", f"tasks.synthetic.train_compositions={40 if on_cpu else 1200}",
                 "--write", options.out / "synthetic"],
                [PYTHON, HERE / "bench_programs.py", data, options.out / "synthetic" / "train.json",
                 *(["--tasks", 12, "--programs", 2] if on_cpu else [path for path in PUBLISHED if path.exists()])]]
    for command in commands:
        subprocess.run([str(word) for word in command], check=True, cwd=SOURCE)


# ---- Running them.

def mpi_environment():
    """This process's, with what launch/mpi_environment sets for ranks of one host."""
    text = subprocess.run(["bash", "-c", ". launch/mpi_environment && env -0"], check=True, capture_output=True, text=True, cwd=SOURCE).stdout
    return dict(entry.split("=", 1) for entry in text.split("\0") if "=" in entry)


def remove(paths):
    for path in paths:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def run_part(part, options):
    log = options.out / f"{part.name}.log"
    print(f"{part.name}: some {part.expected_s} s on four H100, at most {part.limit_s} s", flush=True)
    # What an earlier attempt has left would be taken for this one's.
    remove([path for pattern in part.makes for path in options.out.glob(pattern)])
    begin, code = time.monotonic(), None
    with log.open("w") as output:
        process = subprocess.Popen(part.command, stdout=output, stderr=subprocess.STDOUT, cwd=SOURCE, env=mpi_environment() | part.environment,
                                   start_new_session=True)
        try:
            code = process.wait(timeout=part.limit_s)
        except subprocess.TimeoutExpired:
            pass
        finally:
            end_all(process, ASKED_S)
    text = log.read_text(errors="replace")
    figures = part.read(text, options.out / part.name)
    result = {"command": part.command, "exit_code": code, "seconds": round(time.monotonic() - begin, 1), "figures": figures,
              "state": "too long" if code is None else "done" if code == 0 and figures is not None else "failed"}
    (options.out / f"{part.name}.json").write_text(json.dumps(result))
    print(f"{part.name}: {result['state']} after {result['seconds']} s", flush=True)
    if result["state"] != "done":
        print("".join(text.splitlines(True)[-12:]), flush=True)
    return result["state"]


def make_room(parts, states, out):
    """Removes folders that no part will use any more."""
    for name in {name for part in parts for name in part.uses}:
        if all(states.get(part.name) == "done" for part in parts if name in part.uses):
            shutil.rmtree(out / name, ignore_errors=True)


def run_all(parts, options, begin):
    states = {}
    for part in parts:
        file = options.out / f"{part.name}.json"
        if file.exists() and json.loads(file.read_text())["state"] == "done":
            states[part.name] = "done"
            continue
        if options.only and part.name not in options.only:
            continue
        left_s = options.budget - (time.monotonic() - begin)
        missing = [name for name in part.needs if states.get(name) != "done"]
        if missing or left_s < part.limit_s:
            reason = f"{missing[0]} is not done" if missing else f"{left_s:.0f} s are left, and it may take {part.limit_s}"
            print(f"{part.name}: not begun, as {reason}", flush=True)
            continue
        states[part.name] = run_part(part, options)
        make_room(parts, states, options.out)


# ---- The table.

def text_of_steps(figures):
    rows = []
    for step in figures["steps"]:
        rows.append(f"step {step['step']}: {step['step_seconds']:.1f} s (generation {step['rollout_seconds']:.1f}, verdicts +{step['verify_wait_seconds']:.1f}, "
                    f"update {step['train_seconds']:.1f}), {step['generated_tokens'] / max(step['rollout_seconds'], 1e-9):,.0f} tokens/s, "
                    f"{step['rows_per_second']:,.0f} rows/s, {step['memory_peak_bytes'] / 2**30:.1f} GiB")
    if kill := figures.get("kill"):
        others = [seconds for rank, seconds in kill["rank_ended_s"].items() if int(rank) != kill["killed_rank"]]
        rows.append(f"rank {kill['killed_rank']} killed: " + (f"others end after {max(others):.1f} s" if len(others) == figures["ranks"] - 1
                                                              else f"only {len(others)} others ended"))
    if resumed := figures.get("resumed"):
        rows.append(f"{resumed['after']}, at work after {resumed['ready_after_s']:.0f} s")
    rows += [f"auto is {reason}" for reason in figures.get("placement", [])]
    return "; ".join(rows)


def text_of(figures):
    if not figures:
        return ""
    if "steps" in figures:
        return text_of_steps(figures)
    if "switches" in figures:
        return f"{figures['switches']} switches, peak {figures['peak_gib']:.1f} GiB, {figures['retries']} retries; " + "; ".join(
            f"after {phase}: {figures[phase]['leaked_bytes']:+d} bytes, kept at most {figures[phase]['most_kept_gib']:.2f} GiB, "
            f"split at most {figures[phase]['most_split_gib']:.2f} GiB, {figures[phase]['ms']:.0f} ms" for phase in ("generation", "update"))
    return f"{figures['rows_per_s']:,.0f} rows/s, {figures['ms']:.0f} ms, MFU {figures['mfu_percent']:.1f} %, {figures['peak_gib']:.1f} GiB"


def table(options):
    results, states = {}, set()
    print("\n| part | state | seconds | result |\n|---|---|---|---|")
    for part in parts_of(options):
        file = options.out / f"{part.name}.json"
        result = json.loads(file.read_text()) if file.exists() else {"state": "not run", "seconds": "", "figures": None}
        results[part.name] = result["figures"] or {}
        states.add(result["state"])
        print(f"| {part.name} | {result['state']} | {result['seconds']} | {text_of(result['figures'])} |")
    print_ratios(results, options.gpus)
    return 0 if states == {"done"} else 1


def print_ratios(results, gpus):
    rate = {name: figures.get("rows_per_s") for name, figures in results.items()}
    for label, ours, other, share in (("stage 1 beside FSDP2 (bar 1.2)", "stage1", "fsdp2", 1), ("stage 2 beside FSDP2", "stage2", "fsdp2", 1),
                                      ("weak scaling of stage 1 (bar 0.96 on four)", "stage1", "one", gpus), ("of stage 2", "stage2", "one", gpus),
                                      ("8B, stage 2 beside stage 3", "stage2_8b", "stage3_8b", 1)):
        if rate[ours] and rate[other]:
            print(f"{label}: {rate[ours] / rate[other] / share:.3f}")
    for name in ("stage1", "stage2"):
        many, one = results[name], results["one"]
        if many.get("transfers_alone_ms") and one:
            hidden = 1 - (many["ms"] - one["ms"]) / many["transfers_alone_ms"]
            print(f"{name}: {100 * hidden:.0f} % of {many['transfers_alone_ms']:.1f} ms of transfers are hidden (bar 90 %)")
    steps = results["auto"].get("steps", [])
    # Three colocated steps, of which the first pays for what a run does once, as does the first one after the move.
    if len(steps) > 4 and any(reason.startswith("split") for reason in results["auto"].get("placement", [])):
        colocated, split = ([step["step_seconds"] for step in part] for part in (steps[1:3], steps[4:]))
        print(f"chosen split beside colocated steps (bar 1.2): {sum(colocated) / len(colocated) * len(split) / sum(split):.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--gpus", type=int, default=4)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--build", type=Path, default=Path("build/cuda"))
    parser.add_argument("--tokenizer", type=Path, help="of SDAR; default: shared/data/sdar-8b, on a CPU the quickstart's")
    parser.add_argument("--data", type=Path, help="made by --prepare; default: OUT/data")
    parser.add_argument("--switches", type=int, default=200)
    parser.add_argument("--budget", type=float, help="seconds of this call; default: 1500, on a CPU 14400")
    parser.add_argument("--only", nargs="*", help="these parts alone")
    parser.add_argument("--prepare", action="store_true")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    begin, on_cpu = time.monotonic(), options.device == "cpu"
    options.out, options.build = options.out.absolute(), (SOURCE / options.build).absolute()
    options.data = options.data and options.data.absolute()
    options.budget = options.budget or (14400 if on_cpu else 1500)
    options.tokenizer = (options.tokenizer or (SOURCE / "configs" / "quickstart" if on_cpu else TOKENIZER)).absolute()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.table:
        return table(options)
    if not options.prepare and not any((options.tokenizer / name).exists() for name in ("tokenizer.json", "vocab.json")):
        parser.error(f"{options.tokenizer}: no tokenizer lies there; name SDAR's folder as --tokenizer")
    prepare(options)
    if options.prepare:
        return 0
    run_all(parts_of(options), options, begin)
    return table(options)


if __name__ == "__main__":
    sys.exit(main())
