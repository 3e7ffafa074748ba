#!/usr/bin/env python3
"""Whole steps of reinforcement on the GPUs of one host: where the seconds of each rank go.

    bench/many_gpus/whole_step.py configs/dice-1.7b.yaml WEIGHTS DATA OUT [--ranks 4] [--tasks 64] [--samples 8]
                                  [--stages dynamic:4,static:2] [--workers 0] [--kill-rank 2] [--kill-after 5] [key.path=value ...]
    bench/many_gpus/whole_step.py --table OUT.json [OUT2.json ...]

Runs `bicrl train` with the configuration. Its end-to-end stage is taken as often as --stages says: `dynamic` with the drawn denoise
steps of the section `bench`, `static` with one token a step. WEIGHTS comes from `bicrl init`, DATA from bench_programs.py. Drawn are
lengths, denoise steps and programs; generation, gRPC, sandboxes, rewards, advantages, update, switch of memory, metrics and checkpoints
are those of any run. Once the steps are there the run is killed, rather than waiting for its last checkpoint.

--kill-rank R: after the last step, and once a checkpoint is written, the process of rank R alone is killed, --kill-after seconds into
the next step. How long the other ranks live, and which lines name it, is in the report. --resume N: the run in OUT goes on from its
latest checkpoint and takes N more steps; OUT.resumed.json has them. Without a checkpoint that fails. OUT is the run's folder, with
OUT.json beside it: each step's entry of metrics.jsonl with the time at which it came. The report is written as steps come, and whoever
ends this bench by SIGTERM ends its run.
"""
import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from processes import children, end_all, is_alive

STATIC = {"strategy": "low_confidence_static", "denoise_steps": 4}
PARTS = ("rollout", "verify_wait", "exchange", "train")
# More steps than are waited for: the run is to be at work when it is killed, and may need several until a checkpoint is written.
SPARE_STEPS = 8
KILL_WAIT_S = 90


def overrides(options, config):
    """What differs from the configuration, beside the number of GPUs."""
    import yaml

    rollout = yaml.safe_load(Path(config).read_text())["rollout"]
    found = [f"run.directory={options.out}", f"policy.checkpoint={options.weights}", f"tasks.train=[{options.data}/tasks.json]", "tasks.held_out=[]",
             f"bench.programs={options.data}/programs.json", "evaluation.tasks=0", "evaluation.every_steps=~", "stages.0.stage=end_to_end"]
    stages = [stage.split(":") for stage in options.stages.split(",")]
    for index in (0, 1):
        strategy, steps = stages[index] if index < len(stages) else ("dynamic", 0)
        spare = SPARE_STEPS if index == len(stages) - 1 else 0
        found += [f"stages.{index}.steps={int(steps) + spare}", f"stages.{index}.tasks=[tasks]", f"stages.{index}.tasks_per_step={options.tasks}",
                  f"stages.{index}.samples_per_task={options.samples}"]
        if strategy == "static":
            kept = {key: value for key, value in rollout.items() if key not in ("strategy", "threshold")} | STATIC
            changed = {o.split("=", 1)[0].removeprefix("rollout."): json.loads(o.split("=", 1)[1]) for o in options.overrides if o.startswith("rollout.")}
            found.append(f"stages.{index}.rollout={json.dumps(kept | changed)}")
    workers = options.workers or max(1, len(os.sched_getaffinity(0)) - 2 * options.ranks)
    return [*found, f"verifier.server.workers={workers}", *options.overrides], sum(int(stage[1]) for stage in stages)


def ranks_of(launcher):
    """Process of each rank. A launcher that starts one rank itself is that rank."""
    ranks = {}
    for pid in children(launcher.pid) or [launcher.pid]:
        try:
            rank = re.search(rb"OMPI_COMM_WORLD_RANK=(\d+)\0", Path(f"/proc/{pid}/environ").read_bytes())
        except OSError:
            continue
        # The verifier and its boxes have a rank's environment, too: the ranks are the oldest with it.
        if rank and int(rank[1]) not in ranks:
            ranks[int(rank[1])] = pid
    return ranks


def kill_rank(options, launcher, log):
    time.sleep(options.kill_after)
    ranks = ranks_of(launcher)
    print(f"killing rank {options.kill_rank} of {ranks}", flush=True)
    os.kill(ranks[options.kill_rank], signal.SIGKILL)
    begin, ended = time.monotonic(), {}
    while time.monotonic() - begin < KILL_WAIT_S and len(ended) < len(ranks):
        for rank, pid in ranks.items():
            if rank not in ended and not is_alive(pid):
                ended[rank] = round(time.monotonic() - begin, 2)
        time.sleep(0.05)
    launcher_s = None
    while time.monotonic() - begin < KILL_WAIT_S and launcher_s is None:
        if launcher.poll() is not None:
            launcher_s = round(time.monotonic() - begin, 2)
        time.sleep(0.05)
    named = [line for line in log.read_text(errors="replace").splitlines() if re.search(rf"\brank {options.kill_rank}\b", line)]
    return {"killed_rank": options.kill_rank, "rank_ended_s": ended, "launcher_ended_s": launcher_s, "exit_code": launcher.returncode,
            "lines_that_name_it": named[-6:]}


def resumed(launcher, log, begin, patience):
    """Where the run goes on, once it says so: its metrics end there by then."""
    text = ""
    while not re.search(r"policy: \d+ parameters", text) and launcher.poll() is None and time.monotonic() - begin < patience:
        text = log.read_text(errors="replace")
        time.sleep(0.05)
    at = re.search(r"going on after (\S+) step (\d+) of", text)
    # Of the first stage: another one would follow its steps.
    otherwise = "the run begins anew" if launcher.poll() is None else "the run ended before its first step"
    return {"after": at[0] if at else otherwise, "steps_before": int(at[2]) if at else 0, "ready_after_s": round(time.monotonic() - begin, 2)}


def has_checkpoint(steps):
    """A step's entry has the seconds of a checkpoint that was finished before it."""
    return any(step["checkpoint_write_seconds"] > 0 for step in steps)


def is_enough(steps, wanted, options):
    return len(steps) >= wanted and (options.kill_rank < 0 or has_checkpoint(steps))


def follow(options, launcher, log, report, wanted, suffix):
    """Reads the run's steps into the report until there are enough. Returns whether all that was asked for has happened."""
    begin, steps, earlier = time.monotonic(), report["steps"], 0
    deadline = begin + options.patience - (KILL_WAIT_S if options.kill_rank >= 0 else 0)
    if options.resume:
        report["resumed"] = resumed(launcher, log, begin, options.patience)
        print(json.dumps(report["resumed"]), flush=True)
        earlier = report["resumed"]["steps_before"]
        if earlier == 0:
            return False
    metrics = Path(options.out, "metrics.jsonl")
    while not is_enough(steps, wanted, options) and launcher.poll() is None and time.monotonic() < deadline:
        lines = metrics.read_text().split("\n")[:-1] if metrics.exists() else []
        for line in lines[earlier + len(steps):]:
            steps.append(json.loads(line) | {"came_after_s": time.monotonic() - begin})
            print(text_of(steps[-1]), flush=True)
            write(report, options.out + suffix)
        time.sleep(0.05)
    if not is_enough(steps, wanted, options):
        return False
    if options.kill_rank >= 0:
        if launcher.poll() is not None:
            return False
        report["kill"] = kill_rank(options, launcher, log)
        print(json.dumps(report["kill"]), flush=True)
    return True


def write(report, place):
    """In one go: whoever reads it meets a whole one."""
    Path(place + ".json.part").write_text(json.dumps(report))
    os.replace(place + ".json.part", place + ".json")


def measure(options):
    options.out = str(Path(options.out).absolute())
    if not options.resume and Path(options.out, "metrics.jsonl").exists():
        print(f"{options.out}: a run lies there; --resume N goes on with it, and another folder is for a new one")
        return 2
    given, wanted = overrides(options, options.config)
    command = [options.binary, "train", "--no-verify", options.config, *given]  # the weights were drawn just now
    if options.ranks > 1:
        command = ["mpirun", "-np", str(options.ranks), "--bind-to", "none", "--oversubscribe", *command]
    suffix = ".resumed" if options.resume else ""
    log = Path(options.out + suffix + ".log")
    report = {"command": command, "ranks": options.ranks, "responses": options.tasks * options.samples, "is_complete": False, "steps": []}
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    with log.open("w") as output:
        launcher = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
    try:
        report["is_complete"] = follow(options, launcher, log, report, options.resume or wanted, suffix)
    finally:
        end_all(launcher)
        report["placement"] = re.findall(r"trainer\.placement: auto is (.*)", log.read_text(errors="replace"))
        write(report, options.out + suffix)
    if not report["is_complete"]:
        print("".join(log.read_text(errors="replace").splitlines(True)[-15:]))
    return 0 if report["is_complete"] else 1


def rows_of(step):
    return step["rows_per_second"] * step["train_seconds"]


def text_of(step):
    verdicts = f"correct {100 * step['correct_rate']:.0f} %, informative {step['informative_groups']:.0f}/{step['groups']:.0f}, " \
               f"distinct correct {step['unique_correct']:.1f} a group, truncated {100 * step['truncated_rate']:.0f} %, lost {100 * step['infrastructure_rate']:.1f} %"
    return f"{step['phase']} {step['step']}: step {step['step_seconds']:.1f} s, came after {step['came_after_s']:.1f} s; " \
           f"rollout {step['rollout_seconds']:.1f}, verify +{step['verify_wait_seconds']:.1f}, train {step['train_seconds']:.1f} s; " \
           f"{step['generated_tokens']:.0f} tokens, {rows_of(step):.0f} rows, {step['updates']:.0f} updates; {verdicts}; " \
           f"{step['memory_peak_bytes'] / 2**30:.1f} GiB"


def table(paths):
    """A row for each step and rank; the first step of a run also pays for what a run does once."""
    print("| run | step | rank | rollout | wait for verdicts | exchange | train | of it waiting for tensors | rest | step | tokens/s | rows/s |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    for path in paths:
        report = json.loads(Path(path).read_text())
        for step in report["steps"]:
            ranks = step.get("rank_seconds") or {part: [step.get(f"{part}_seconds", 0)] for part in (*PARTS, "collectives", "step")}
            for rank in range(report["ranks"]):
                of = {part: seconds[rank] for part, seconds in ranks.items()}
                rest = of["step"] - sum(of[part] for part in PARTS)
                whole = f"{step['generated_tokens'] / step['rollout_seconds']:.0f} | {step['rows_per_second']:.0f}" if rank == 0 else " | "
                print(f"| {Path(path).stem} | {step['phase']} {step['step']} | {rank} | " + " | ".join(f"{of[part]:.2f}" for part in PARTS)
                      + f" | {of['collectives']:.2f} | {rest:.2f} | {of['step']:.2f} | {whole} |")


def main():
    if "--table" in sys.argv:
        return table(sys.argv[sys.argv.index("--table") + 1:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("config", "weights", "data", "out"):
        parser.add_argument(name)
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--tasks", type=int, default=64)
    parser.add_argument("--samples", type=int, default=8)
    parser.add_argument("--stages", default="dynamic:4,static:2", help="one or two, each with its steps")
    parser.add_argument("--workers", type=int, default=0, help="of the verifier; 0: all cores but two for each rank")
    parser.add_argument("--kill-rank", type=int, default=-1)
    parser.add_argument("--kill-after", type=float, default=5, help="seconds after the last entry of a step")
    parser.add_argument("--resume", type=int, default=0, metavar="STEPS")
    parser.add_argument("--patience", type=float, default=3600, help="seconds after which the run is killed, with those of --kill-rank")
    parser.add_argument("--binary", default="bicrl")
    parser.add_argument("overrides", nargs="*")
    return measure(parser.parse_intermixed_args())


if __name__ == "__main__":
    sys.exit(main())
