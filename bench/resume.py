"""Kills a run's processes at random moments and starts it again until it ends; then compares it with a run that nobody
killed: every metric that is no time, all responses and the final weights must be the same, bit for bit.

    python3 bench/resume.py --program build/cpu/bin/bicrl --out build/resume [--kills 30] [--seed 1]

Victims are drawn by class: a rank, the launcher, the verifier server, a process in one of its boxes. Every second kill waits for
a checkpoint that is being written."""
import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

from process_tree import children_of

RANKS = 2


def command_of(pid):
    try:
        return Path("/proc", str(pid), "cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


def victims_of(launcher):
    classes = {"launcher": [launcher], "rank": [], "verifier": [], "box": []}
    for pid in children_of(launcher):
        words = command_of(pid)
        program = os.path.basename(words[0]).decode() if words and words[0] else ""
        if b"verifier" in words[1:2]:
            classes["verifier"].append(pid)
        elif b"train" in words[1:2]:
            classes["rank"].append(pid)
        elif program and program not in ("orted", "mpirun"):
            classes["box"].append(pid)
    return classes


def start(arguments, config, log):
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_btl="self,vader",
                       OMPI_MCA_btl_vader_single_copy_mechanism="none", OMPI_MCA_pml="ob1")
    words = ["mpirun", "-np", str(RANKS), "--bind-to", "none", "--oversubscribe", arguments.program, "train", *config]
    return subprocess.Popen(words, stdout=log, stderr=subprocess.STDOUT, env=environment, start_new_session=True)


def alive(pids):
    def running(pid):
        try:
            return Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()[0] != "Z"
        except OSError:
            return False
    return [pid for pid in pids if running(pid)]


def run_to_end(arguments, config, log):
    with open(log, "a") as out:
        return start(arguments, config, out).wait()


def trace(run):
    """Everything that must not depend on kills."""
    def timeless(record):
        return {k: v for k, v in record.items() if not k.endswith(("_seconds", "_per_second", "_peak_bytes", "_mfu", "_queue", "collectives"))}
    metrics = [timeless(json.loads(line)) for line in Path(run, "metrics.jsonl").read_text().splitlines()]
    summary = json.loads(Path(run, "summary.json").read_text())
    held_out = {phase: {k: v for k, v in result.items() if k != "seconds"} for phase, result in summary["held_out"].items()}
    weights = hashlib.sha256(Path(run, "checkpoints/end_to_end/model.safetensors").read_bytes()).hexdigest()
    optimizer = hashlib.sha256(Path(run, "checkpoints/end_to_end/trainer/optimizer.safetensors").read_bytes()).hexdigest()
    responses = hashlib.sha256(Path(run, "responses.jsonl").read_bytes()).hexdigest()
    return {"metrics": metrics, "held_out": held_out, "weights": weights, "optimizer": optimizer, "responses": responses}


def is_writing(run):
    return any(Path(run, "checkpoints").glob(".writing-*"))


def kill_until_done(arguments, config, log, draw, kills_left):
    """One run with kills; returns what was done: (class, when, seconds until all ranks were down, position, whether a checkpoint
    was being written)."""
    done = []
    run = Path(arguments.out, "killed")
    while True:
        with open(log, "a") as out:
            out.write(f"--- start {len(done)}\n")
            out.flush()
            process = start(arguments, config, out)
            wait_s = draw.uniform(0.5, arguments.longest_wait)
            deadline = time.monotonic() + wait_s
            while process.poll() is None and (time.monotonic() < deadline or len(done) >= kills_left):
                time.sleep(0.01)
            patience = time.monotonic() + (5 if len(done) % 2 else 0)
            while process.poll() is None and time.monotonic() < patience and not is_writing(run):
                time.sleep(0.0005)
            if process.poll() is not None:
                if process.returncode != 0:
                    raise SystemExit(f"the run ended with code {process.returncode}; see {log}")
                return done
            tree = children_of(process.pid)
            classes = {name: pids for name, pids in victims_of(process.pid).items() if pids}
            name = draw.choice(sorted(classes))
            victim = draw.choice(classes[name])
            ranks = classes.get("rank", [])
            writing = is_writing(run)
            killed_at = time.monotonic()
            try:
                os.kill(victim, signal.SIGKILL)
            except ProcessLookupError:
                pass
            survived = False
            if name == "box":  # the verifier replaces what runs in boxes: the run need not end
                time.sleep(draw.uniform(0, 3))
                survived = process.poll() is None
                if survived:
                    os.killpg(process.pid, signal.SIGKILL)
            while alive(ranks) or process.poll() is None:
                if time.monotonic() - killed_at > 120:
                    raise SystemExit(f"ranks live on 120 s after {name} {victim} was killed")
                time.sleep(0.02)
            down_s = time.monotonic() - killed_at
            while alive(tree):
                if time.monotonic() - killed_at > 180:
                    raise SystemExit(f"processes are left over: {[(p, command_of(p)[:3]) for p in alive(tree)]}")
                time.sleep(0.02)
        state = run / "checkpoints/latest"
        position = state.read_text().strip() if state.exists() else "(none)"
        done.append((name + (" (survived; then all)" if survived else ""), round(wait_s, 2), round(down_s, 2), position, writing))
        print(f"kill {len(done)}: {done[-1]}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--longest-wait", type=float, default=22)
    parser.add_argument("--checkpoint-every", type=float, default=0.01)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    out = Path(arguments.out)
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    # A policy that solves some tasks, so that rewards, advantages and gradients are not all zero.
    code = run_to_end(arguments, ["configs/quickstart.yaml", f"run.directory={out}/warm", "stages=[]", "evaluation.tasks=0"],
                      out / "warm.log")
    if code != 0:
        raise SystemExit(f"the warm-up failed; see {out}/warm.log")
    config = ["configs/quickstart.yaml", "policy.config=''", f"policy.checkpoint={out}/warm/checkpoints/warm_up",
              "warm_up.steps=40", "warm_up.update.learning_rate=1e-4", f"run.checkpoint_every_s={arguments.checkpoint_every}", "evaluation.tasks=24"]
    for stage, steps in ((0, 6), (1, 5), (2, 3)):
        config += [f"stages.{stage}.steps={steps}", f"stages.{stage}.tasks_per_step=8", f"stages.{stage}.samples_per_task=4"]
    if run_to_end(arguments, [*config, f"run.directory={out}/whole"], out / "whole.log") != 0:
        raise SystemExit(f"the run without kills failed; see {out}/whole.log")
    expected = trace(out / "whole")
    draw = random.Random(arguments.seed)
    done, runs = [], 0
    while len(done) < arguments.kills:
        shutil.rmtree(out / "killed", ignore_errors=True)
        done += kill_until_done(arguments, [*config, f"run.directory={out}/killed"], out / "killed.log", draw,
                                arguments.kills - len(done))
        runs += 1
        found = trace(out / "killed")
        for part, value in expected.items():
            if found[part] != value:
                Path(out, "expected.json").write_text(json.dumps(expected, indent=1))
                Path(out, "found.json").write_text(json.dumps(found, indent=1))
                raise SystemExit(f"{part} differ from the run without kills; see {out}/expected.json and found.json")
    slowest = max(d[2] for d in done)
    print(f"{len(done)} kills, {sum(d[4] for d in done)} of them while a checkpoint was written, in {runs} runs, each bitwise equal to the run without kills; slowest end of all ranks after a "
          f"kill {slowest:.1f} s")


if __name__ == "__main__":
    main()
