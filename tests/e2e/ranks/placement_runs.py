"""Small runs of both placements, and what of two of them has to be the same."""
import hashlib
import os
import subprocess
import time
from pathlib import Path

from support import BINARY, ENVIRONMENT, MPIRUN, SOURCE, expect, one_verifier, read_json, read_lines, reproducible, without_seconds

SMALL = ["warm_up.steps=4", "warm_up.samples_per_step=8", "stages.0.steps=2", "stages.0.tasks_per_step=3", "stages.0.samples_per_task=4",
         "stages.1.steps=3", "stages.1.tasks_per_step=4", "stages.1.samples_per_task=4", "evaluation.tasks=2", "evaluation.every_steps=2",
         # One response in a forward: how many share one, and so its rounding, would follow from the number of generators.
         "rollout.max_new_tokens=48", "rollout.max_active=1", "run.checkpoint_every_s=0.01",
         # Minibatches, and a reference that only trainers have.
         "stages.1.update.responses_per_update=3", "stages.1.update.kl_weight=0.05",
         "stages.1.update.kl_reference=initial"]
SPLIT = ["trainer.placement=split"]
NOBODY = "verifier.addresses=[127.0.0.1:9]"  # so that a run is refused before it asks for its verifier


def failure_of(sample):
    return sample["verdict"] and sample["verdict"]["fault_class"]


def trace(run):
    # How many responses share a forward follows from the number of ranks that generate, and nothing else does.
    steps = [{k: v for k, v in reproducible(step).items() if not k.endswith("tokens_per_forward")} for step in read_lines(f"{run}/metrics.jsonl")]
    checkpoint = Path(run, "checkpoints/end_to_end")
    files = {str(p.relative_to(checkpoint)): hashlib.sha256(p.read_bytes()).hexdigest() for p in checkpoint.rglob("*.safetensors")}
    held_out = {name: without_seconds(result) for name, result in read_json(f"{run}/summary.json")["held_out"].items()}
    # Whichever rank generated a sample, rank 0 has its verdict, its prompt and its tokens.
    samples = [{key: sample[key] for key in ("group", "sample", "text", "reward", "terms", "prompt", "denoising")} | {"failure": failure_of(sample)}
               for sample in read_lines(f"{run}/samples.jsonl")]
    return {"steps": steps, "files": files, "responses": Path(run, "responses.jsonl").read_text(), "held out": held_out, "samples": samples}


def words(run, *overrides):
    return ["train", "tests/data/small_run.yaml", f"run.directory={run}", *SMALL, *overrides]


def begun(run, steps, ranks, *overrides):
    """A run that has done so many steps."""
    process = subprocess.Popen([*MPIRUN, "-np", str(ranks), BINARY, *words(run, *overrides)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True, start_new_session=True, cwd=SOURCE, env=ENVIRONMENT)
    metrics = Path(run, "metrics.jsonl")
    deadline = time.monotonic() + 600
    while not (metrics.exists() and metrics.read_text().count("\n") >= steps):
        expect(process.poll() is None and time.monotonic() < deadline, f"{steps} steps", process.poll(), process.stdout.read() if process.poll() else "")
        time.sleep(0.005)
    return process


def pid_of_rank(run, rank):
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            command = Path("/proc", entry, "cmdline").read_bytes().split(b"\0")
            environment = Path("/proc", entry, "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if command[1:2] == [b"train"] and f"run.directory={run}".encode() in command and f"OMPI_COMM_WORLD_RANK={rank}".encode() in environment:
            return int(entry)
    expect(False, f"rank {rank} of {run} runs")


def same(name, run, expected):
    for what, found in trace(run).items():
        expect(found == expected[what], f"{name}: the same {what}", found, expected[what])


def verifier_here(temporary):
    """Overrides: one verifier for all runs of a test, and a reward."""
    # Advantages are not zero, though nothing is solved yet.
    reward = Path(temporary, "reward.yaml")
    reward.write_text("rule: binary\ntruncated: penalise\ntruncated_value: -1\n")
    return [*one_verifier(), f"reward={reward}"]
