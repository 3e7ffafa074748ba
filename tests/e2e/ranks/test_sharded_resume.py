"""A run whose ranks divide AdamW's state, gradients and parameters: killed and gone on with it ends as without a fault; its
checkpoint is taken up by one rank that divides nothing, and by three that divide everything."""
import hashlib
import os
import signal
import subprocess
import time
from pathlib import Path

from support import BINARY, ENVIRONMENT, MPIRUN, SOURCE, bicrl, expect, folder, read_json, read_lines, reproducible

STEPS = 40
SMALL = [f"warm_up.steps={STEPS}", "warm_up.samples_per_step=8", "stages=[]", "evaluation.tasks=0", "run.checkpoint_every_s=0.01",
         "trainer.sharding_stage=2"]


def trace(run):
    steps = [reproducible(step) for step in read_lines(f"{run}/metrics.jsonl")]
    checkpoint = Path(run, "checkpoints/warm_up")
    files = {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in checkpoint.rglob("*.safetensors")}
    return steps, files


def words(run, *overrides):
    return ["sft", "tests/data/small_run.yaml", f"run.directory={run}", *SMALL, *overrides]


def killed(run, steps):
    """The run until it has done so many steps; then one rank is gone."""
    process = subprocess.Popen([*MPIRUN, "-np", "2", BINARY, *words(run)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               start_new_session=True, cwd=SOURCE, env=ENVIRONMENT)
    metrics = Path(run, "metrics.jsonl")
    deadline = time.monotonic() + 600
    while not (metrics.exists() and metrics.read_text().count("\n") >= steps):
        expect(process.poll() is None and time.monotonic() < deadline, f"{steps} steps", process.poll())
        time.sleep(0.005)
    ranks = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            command = Path("/proc", entry, "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if command[1:2] == [b"sft"] and f"run.directory={run}".encode() in command:
            ranks.append(int(entry))
    expect(len(ranks) == 2, "two ranks", ranks)
    os.kill(max(ranks), signal.SIGKILL)
    output, _ = process.communicate(timeout=300)
    expect(process.returncode != 0, "a killed rank ends the run", output)


def refused(words_of_message, run):
    code, out, err = bicrl(*words(run))
    expect(code == 2, "refused", code, out, err)
    for word in words_of_message:
        expect(word in err, f"says {word}", err)


with folder() as temporary:
    whole = f"{temporary}/whole"
    code, out, err = bicrl(*words(whole), ranks=2)
    expect(code == 0, "a run without faults", out, err)
    expected = trace(whole)
    expect(set(expected[1]) == {"model.safetensors", "optimizer-00001-of-00002.safetensors", "optimizer-00002-of-00002.safetensors"},
           "a part of each rank", expected[1])

    run = f"{temporary}/run"
    for steps in (7, 19, 31):
        killed(run, steps)
    code, out, err = bicrl(*words(run), ranks=2)
    expect(code == 0 and "going on after" in err + out, "the run goes on to its end", out, err)
    expect(trace(run) == expected, "as if nothing had been", trace(run)[1], expected[1])

    # Half-way, then on other ranks in another stage: the same up to rounding.
    loss = expected[0][-1]["loss"]
    for ranks, stage in ((None, 0), (3, 3)):
        other = f"{temporary}/other-{stage}"
        killed(other, 20)
        latest = Path(other, "checkpoints", Path(other, "checkpoints/latest").read_text().strip())
        shard = latest / "trainer/optimizer-00002-of-00002.safetensors"
        content = shard.read_bytes()
        shard.write_bytes(content[:-1])
        refused([str(shard), "is damaged"], other)
        shard.unlink()
        refused([str(shard), "is missing from the checkpoint"], other)
        shard.write_bytes(content)
        code, out, err = bicrl(*words(other, f"trainer.sharding_stage={stage}", "trainer.recompute=full"), ranks=ranks)
        expect(code == 0 and "the run had 2 ranks" in err + out, "goes on with other ranks", out, err)
        found = trace(other)
        expect(abs(found[0][-1]["loss"] - loss) < 1e-3 * loss, "the same loss", found[0][-1]["loss"], loss)
        names = {"model.safetensors", *(["optimizer.safetensors"] if not stage else [f"optimizer-0000{i}-of-00003.safetensors" for i in (1, 2, 3)])}
        expect(set(found[1]) == names, "files of the ranks that ended it", found[1])
        state = read_json(f"{other}/checkpoints/warm_up/trainer/state.json")
        expect(state["ranks"] == (ranks or 1), "ranks of the state", state)
print("sharded runs, killed and taken up by others")
