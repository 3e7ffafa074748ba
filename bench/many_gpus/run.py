#!/usr/bin/env python3
"""Everything that is measured on the GPUs of one host, in one command: FSDP2 beside our updates, whole steps with a rank killed and
resumed, whole steps of 8B, and switches of memory. One table at the end.

    bench/many_gpus/run.py OUT [--gpus 4] [--build build/cuda] [--tokenizer FOLDER] [--data FOLDER] [--only NAME ...] [--budget 1500]
    bench/many_gpus/run.py OUT --device cpu --gpus 2 --build build/cpu          the same flow with tiny policies on CPU ranks
    bench/many_gpus/run.py OUT --prepare                                        only OUT/data, which needs no GPU
    bench/many_gpus/run.py OUT --table                                          the table of what lies in OUT

Each part has a limit, after which it is ended and the next one begins; the budget, in seconds, is that of all parts. A part whose result
lies in OUT is not run again. OUT/NAME.log has what it printed, OUT/NAME.json its command, its seconds and its figures.
"""
import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

HERE, SOURCE = Path(__file__).resolve().parent, Path(__file__).resolve().parents[2]
PYTHON = sys.executable
TOKENIZER = SOURCE / "shared" / "data" / "sdar-8b"
PUBLISHED = [SOURCE / "shared" / "data" / "infilling_tasks.json"]
# As in tests/e2e/test_bench_of_whole_steps.py: two steps of a tiny policy on a CPU.
TINY = ["policy.device=cpu", "policy.dtype=float32", "tasks.prompt_style=compact", "rollout.max_new_tokens=64", "bench.median_tokens=24",
        "run.threads_per_rank=1", "verifier.server.limits.compile_s=300", "verifier.server.limits.record_s=300", "verifier.server.oracle.cpu_s=300"]


class Part:
    """One thing that is run: its command, its limit, how its output is read, and the parts that it needs."""

    def __init__(self, name, limit_s, command, read, needs=(), environment=None):
        self.name, self.limit_s, self.command, self.read = name, limit_s, [str(word) for word in command], read
        self.needs, self.environment = needs, environment or {}


# ---- What the programs print.

def read_nothing(text, out):
    return {}


def read_update(text, out):
    found = re.search(r"stage (\d), recompute (\w+): (\d+) rows a rank.*?; ([\d.]+) ms \(.*?, (\d+) rows/s of all ranks, MFU ([\d.]+) %, "
                      r"([\d.]+) GiB, rank 0 waited ([\d.]+) ms", text)
    names = ("stage", "recompute", "rows_a_rank", "ms", "rows_per_s", "mfu_percent", "peak_gib", "waited_ms")
    return {name: value if name == "recompute" else float(value) for name, value in zip(names, found.groups())} if found else None


def read_fsdp(text, out):
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    return {**lines[-1], "mfu_percent": 100 * lines[-1]["mfu"]} if lines else None


def read_switches(text, out):
    phases = {name: {"leaked_bytes": int(leaked), "kept_gib": float(kept), "most_kept_gib": float(most), "most_split_gib": float(split), "ms": float(ms)}
              for name, leaked, kept, most, split, ms in re.findall(
                  r"after (\w+): tensors [\d.]+ GiB, ([+-]\d+) bytes.*?kept by the allocator ([\d.]+) .*?at most ([\d.]+); pieces.*?at most ([\d.]+); (\d+) ms", text)}
    head = re.search(r"(\d+) switches, peak of tensors ([\d.]+) GiB, (\d+) allocations", text)
    return {"switches": int(head[1]), "peak_gib": float(head[2]), "retries": int(head[3]), **phases} if head and phases else None


def read_steps(suffix):
    def read(text, out):
        file = Path(str(out) + suffix)
        return json.loads(file.read_text()) if file.exists() else None
    return read


# ---- The parts, in their order.

def parts_of(options):
    out, build, gpus = options.out, options.build, options.gpus
    on_cpu = options.device == "cpu"
    data = options.data or out / "data"
    if on_cpu:
        small = large = "configs/quickstart/policy.json"
        rows, tokens, packs, device, limit = ["--groups", 2, "--samples", 2, "--prompt", 32, "--response", 32, "--repeats", 2], 152, 2, ["--device", "cpu"], 900
        switch = ["--switches", 20, "--sequences", 8, "--samples", 2, "--prompt", 32, "--response", 32, "--tokens-per-pack", 152, "--stage", 2]
        tasks, samples, train, train_8b = 3, 4, [*TINY, "rollout.max_active=16"], [*TINY, "rollout.max_active=16"]
    else:
        small, large = "configs/shapes/sdar-1.7b.json", "configs/shapes/sdar-8b.json"
        rows, tokens, packs, device, limit = ["--groups", 4], 17000, 4, [], 0
        switch = ["--switches", options.switches, "--stage", 2, "--recompute", "full", "--cache-tokens", 180000]
        tasks, samples, train, train_8b = 64, 8, [], []
    mpirun = lambda ranks: ["mpirun", "-np", ranks, "--bind-to", "none", "--oversubscribe"]
    update = lambda ranks, stage: [*mpirun(ranks), build / "bin" / "bench_rank_update", small, *rows, "--tokens-per-pack", tokens, "--stage", stage, *device]
    peer = [PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", gpus, HERE / "fsdp_peer.py", small, "--stage", 2, *rows, "--packs", packs]
    init = lambda shape, name: [build / "bin" / "bicrl", "init", shape, out / name, "--tokenizer", options.tokenizer,
                                "--dtype", "float32" if on_cpu else "bfloat16"]
    whole = lambda config, weights, name, *words: [PYTHON, HERE / "whole_step.py", config, out / weights, data, out / name, "--ranks", gpus,
                                                   "--tasks", tasks, "--samples", samples, "--binary", build / "bin" / "bicrl", *words]
    # Checkpoints as often as they can be written, so that a run that is killed has one.
    killed = ["--stages", "dynamic:2", "run.checkpoint_every_s=1", *train]
    return [
        Part("fsdp2", limit or 240, peer, read_fsdp, environment={"OMP_NUM_THREADS": "1"} if on_cpu else {}),
        Part("one", limit or 90, update(1, 0), read_update),
        Part("stage1", limit or 90, update(gpus, 1), read_update),
        Part("stage3", limit or 90, update(gpus, 3), read_update),
        Part("weights", limit or 90, init(small, "weights.d"), read_nothing),
        Part("steps", limit or 240, whole("configs/dice-1.7b.yaml", "weights.d", "steps.d", "--kill-rank", gpus - 1, *killed), read_steps(".d.json"),
             needs=("weights",)),
        Part("resumed", limit or 180, whole("configs/dice-1.7b.yaml", "weights.d", "steps.d", "--resume", 1, *killed), read_steps_of_resumed(),
             needs=("steps",)),
        Part("weights_8b", limit or 120, init(large, "weights_8b.d"), read_nothing),
        # A checkpoint of 8B has 115 GB: none is written within the stage.
        Part("steps_8b", limit or 300, whole("configs/dice-8b.yaml", "weights_8b.d", "steps_8b.d", "--stages", "dynamic:1", "run.checkpoint_every_s=0",
                                             *train_8b), read_steps(".d.json"), needs=("weights_8b",)),
        Part("switches", limit or 300, [*mpirun(gpus), build / "bin" / "bench_memory_switch", large, *switch, *device], read_switches),
    ]


def read_steps_of_resumed():
    return lambda text, out: read_steps(".resumed.json")(text, out.parent / "steps.d")


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

def run_part(part, options, left_s):
    log, limit_s = options.out / f"{part.name}.log", min(part.limit_s, left_s)
    print(f"{part.name}: at most {limit_s:.0f} s", flush=True)
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", **part.environment}
    begin = time.monotonic()
    with log.open("w") as output:
        process = subprocess.Popen(part.command, stdout=output, stderr=subprocess.STDOUT, cwd=SOURCE, env=environment, start_new_session=True)
        try:
            code = process.wait(timeout=limit_s)
        except subprocess.TimeoutExpired:
            code = None
            end_group(process)
    text = log.read_text(errors="replace")
    figures = part.read(text, options.out / part.name)
    result = {"command": part.command, "exit_code": code, "seconds": round(time.monotonic() - begin, 1), "figures": figures,
              "state": "too long" if code is None else "done" if code == 0 and figures is not None else "failed"}
    (options.out / f"{part.name}.json").write_text(json.dumps(result))
    print(f"{part.name}: {result['state']} after {result['seconds']} s", flush=True)
    if result["state"] != "done":
        print("".join(text.splitlines(True)[-12:]), flush=True)
    return result


def end_group(process):
    """The part's processes: first as a launcher expects to be asked, so that it ends its ranks."""
    for number, patience_s in ((signal.SIGTERM, 10), (signal.SIGKILL, 10)):
        try:
            os.killpg(process.pid, number)
            process.wait(timeout=patience_s)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            pass


def run_all(options):
    begin, states = time.monotonic(), {}
    for part in parts_of(options):
        file = options.out / f"{part.name}.json"
        if file.exists() and (state := json.loads(file.read_text())["state"]) == "done":
            states[part.name] = state
            continue
        if options.only and part.name not in options.only:
            continue
        left_s = options.budget - (time.monotonic() - begin)
        missing = [name for name in part.needs if states.get(name) != "done"]
        if missing or left_s < 15:
            print(f"{part.name}: not begun, {'as ' + missing[0] + ' is not done' if missing else 'the budget is spent'}", flush=True)
            continue
        states[part.name] = run_part(part, options, left_s)["state"]
        if part.name == "resumed" and states[part.name] == "done":  # room for the next ones'
            for name in ("steps.d", "weights.d"):
                shutil.rmtree(options.out / name, ignore_errors=True)


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
    rate = {name: results[name].get("rows_per_s") for name in ("fsdp2", "one", "stage1", "stage3")}
    for label, ours, other, share in (("stage 1 beside FSDP2 (bar 1.2)", "stage1", "fsdp2", 1), ("stage 3 beside FSDP2", "stage3", "fsdp2", 1),
                                      ("weak scaling of stage 1 (bar 0.96 on four)", "stage1", "one", options.gpus), ("of stage 3", "stage3", "one", options.gpus)):
        if rate[ours] and rate[other]:
            print(f"{label}: {rate[ours] / rate[other] / share:.3f}")
    return 0 if states == {"done"} else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--gpus", type=int, default=4)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--build", type=Path, default=Path("build/cuda"))
    parser.add_argument("--tokenizer", type=Path, help="default: that of SDAR where it lies beside the sources, else the quickstart's")
    parser.add_argument("--data", type=Path, help="made by --prepare; default: OUT/data")
    parser.add_argument("--switches", type=int, default=200)
    parser.add_argument("--budget", type=float, default=1500, help="seconds of all parts")
    parser.add_argument("--only", nargs="*", help="these parts alone")
    parser.add_argument("--prepare", action="store_true")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    options.out, options.build = options.out.absolute(), (SOURCE / options.build).absolute()
    options.data = options.data and options.data.absolute()
    has_published = options.device == "cuda" and TOKENIZER.exists()
    options.tokenizer = (options.tokenizer or (TOKENIZER if has_published else SOURCE / "configs" / "quickstart")).absolute()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.table:
        return table(options)
    prepare(options)
    if options.prepare:
        return 0
    run_all(options)
    return table(options)


if __name__ == "__main__":
    sys.exit(main())
