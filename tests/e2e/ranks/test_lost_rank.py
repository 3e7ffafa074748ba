"""A rank that is stopped or killed makes every other end, with its name, though all of them wait for it in MPI; the same command
then goes on and ends like a run that nothing happened to."""
import hashlib
import os
import re
import signal
import subprocess
import time
from pathlib import Path

from support import BINARY, ENVIRONMENT, IMPATIENT, MPIRUN, SOURCE, bicrl, descendants, expect, folder, read_lines

LIMIT_S = 6
WORDS = ["sft", "tests/data/small_run.yaml", "evaluation.tasks=0", "warm_up.steps=400", "warm_up.samples_per_step=6",
         "run.checkpoint_every_s=1", f"trainer.heartbeat_limit_s={LIMIT_S}", "tasks.synthetic.train_compositions=16"]


def words(run):
    return [*WORDS, f"run.directory={run}"]


def ranks_of(launcher):
    found = {}
    for pid in descendants(launcher):
        environment = Path(f"/proc/{pid}/environ").read_bytes()
        rank = re.search(rb"OMPI_COMM_WORLD_RANK=(\d+)", environment)
        if rank and b"sft" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0"):
            found.setdefault(int(rank.group(1)), pid)
    return found


def run_until_lost(run, victim, how):
    """Starts the run, does `how` to a rank in its midst, and returns (seconds until all ended, stderr)."""
    process = subprocess.Popen([*MPIRUN, "-np", "3", BINARY, *words(run)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               cwd=SOURCE, env={**ENVIRONMENT, **IMPATIENT})
    deadline = time.monotonic() + 300
    before = steps(run)
    while steps(run) < before + 20:
        expect(process.poll() is None and time.monotonic() < deadline, "the run begins", *(process.communicate() if process.poll() is not None else []))
        time.sleep(0.05)
    ranks = ranks_of(process.pid)
    expect(sorted(ranks) == [0, 1, 2], "three ranks", ranks)
    os.kill(ranks[victim], how)
    begin = time.monotonic()
    _, err = process.communicate(timeout=120)
    seconds = time.monotonic() - begin
    expect(process.returncode != 0, "a run that lost a rank has failed", err)
    while any(Path(f"/proc/{pid}").exists() for pid in ranks.values()):
        expect(time.monotonic() - begin < 60, "all ranks end within a minute", ranks)
        time.sleep(0.05)
    named = re.search(rf"rank {victim} \(host \S+, process {ranks[victim]}\)", err)
    expect(named or f"process rank {victim} " in err, f"rank {victim} is named, by the others or by the launcher", err)
    return seconds, err


def steps(run):
    path = Path(run, "metrics.jsonl")
    return path.read_text().count("\n") if path.exists() else 0


def weights(run):
    return [hashlib.sha256(Path(run, "checkpoints/warm_up", name).read_bytes()).hexdigest()
            for name in ("model.safetensors", "trainer/optimizer.safetensors")]


with folder() as temporary:
    lost, whole = f"{temporary}/lost", f"{temporary}/whole"
    for victim, how, words_of_it in ((2, signal.SIGSTOP, "has not been heard of"), (0, signal.SIGSTOP, "has not been heard of"),
                                     (1, signal.SIGKILL, "on signal 9")):
        seconds, err = run_until_lost(lost, victim, how)
        expect(words_of_it in err or "is gone" in err, f"what became of rank {victim}", err)
        expect(how != signal.SIGSTOP or f"after {LIMIT_S} s the run ends" in err, "silence is told before the limit", err)
        print(f"rank {victim}, {how.name}: all ended after {seconds:.1f} s")
    for run in (lost, whole):
        code, out, err = bicrl(*words(run), ranks=3)
        expect(code == 0, "the same command goes on", code, out, err)
    expect(len(read_lines(f"{lost}/metrics.jsonl")) == 400 and weights(lost) == weights(whole), "and ends like one that nothing happened to")

    code, _, err = bicrl(*words(f"{temporary}/none"), "trainer.heartbeat_limit_s=1", "--dry-run")
    expect(code == 2 and "heartbeat_limit_s" in err, "a limit within reach of a busy machine is refused", code, err)
print("lost ranks are noticed")
