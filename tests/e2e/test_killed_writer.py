"""Runs killed while a checkpoint is being written, which goes on beside training: each goes on to the same weights, bit for bit."""
import hashlib
import random
import subprocess
import time
from pathlib import Path

from support import BINARY, ENVIRONMENT, SOURCE, bicrl, expect, folder, read_lines, reproducible

SMALL = ["warm_up.steps=60", "warm_up.samples_per_step=8", "stages=[]", "evaluation.tasks=0", "run.checkpoint_every_s=0.001"]
KILLS = 4


def trace(run):
    steps = [reproducible(step) for step in read_lines(f"{run}/metrics.jsonl")]
    files = {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in Path(run, "checkpoints/warm_up").rglob("*.safetensors")}
    return steps, files


def words(run):
    return ["sft", "tests/data/small_run.yaml", f"run.directory={run}", *SMALL]


def is_writing(run):
    return any(Path(run, "checkpoints").glob(".writing-*"))


def killed_within_writer(run, wait_s):
    """Starts the run, lets it work for so long and kills it while a checkpoint is written. False if it ended before."""
    process = subprocess.Popen([BINARY, *words(run)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=SOURCE, env=ENVIRONMENT)
    metrics = Path(run, "metrics.jsonl")
    before = metrics.read_bytes().count(b"\n") if metrics.exists() else 0
    deadline = time.monotonic() + 300
    # Some steps of this start, so that every one gets further than the one before.
    while process.poll() is None and not (metrics.exists() and metrics.read_bytes().count(b"\n") > before):
        expect(time.monotonic() < deadline, "the run takes steps")
        time.sleep(0.002)
    time.sleep(wait_s)
    while process.poll() is None and not is_writing(run):
        expect(time.monotonic() < deadline, "a checkpoint is written")
    time.sleep(draw.uniform(0, 0.02))
    ended = process.poll()
    process.kill()
    output = process.communicate(timeout=60)[0]
    expect(ended in (None, 0), "the run ends well or not at all", output)
    return ended is None and is_writing(run)


draw = random.Random(1)
with folder() as temporary:
    whole = f"{temporary}/whole"
    code, out, err = bicrl(*words(whole))
    expect(code == 0, "a run without faults", out, err)
    entries = read_lines(f"{whole}/metrics.jsonl")
    expect(any(e["checkpoint_write_seconds"] > 0 for e in entries), "checkpoints within the phase", entries[-1])
    expect(all(e["checkpoint_stall_seconds"] >= 0 for e in entries), "what they cost the run is told", entries[-1])
    expected = trace(whole)

    inside, runs = 0, 0
    while inside < KILLS:
        runs += 1
        expect(runs < 20, "kills within the writer", inside)
        run = f"{temporary}/run-{runs}"
        while inside < KILLS and killed_within_writer(run, draw.uniform(0, 0.3)):
            inside += 1
        code, out, err = bicrl(*words(run))
        expect(code == 0, "the run goes on to its end", out, err)
        expect(not is_writing(run), "nothing of an unfinished checkpoint is left over")
        expect(trace(run) == expected, "as if nothing had been", trace(run)[1], expected[1])

    # The same without a thread that writes.
    other = f"{temporary}/other"
    code, out, err = bicrl(*words(other), "run.checkpoint_in_background=false")
    expect(code == 0 and trace(other) == expected, "not in the background", out, err)
print(f"{inside} kills within the writer of checkpoints")
