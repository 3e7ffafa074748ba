"""A run that is stopped, killed, changed or damaged: the same command goes on to the same numbers, or says what is wrong
and loses nothing."""
import hashlib
import json
import os
import signal
import subprocess
import time
from pathlib import Path

from support import BINARY, ENVIRONMENT, MPIRUN, SOURCE, bicrl, expect, folder, one_verifier, patient, read_lines, reproducible, started_verifier, without_seconds

SMALL = ["warm_up.steps=30", "warm_up.samples_per_step=8", "stages.0.steps=2", "stages.0.tasks_per_step=4", "stages.0.samples_per_task=2",
         "stages.1.steps=3", "stages.1.tasks_per_step=4", "stages.1.samples_per_task=2", "evaluation.tasks=4", "evaluation.every_steps=2",
         "run.checkpoint_every_s=0.01",
         # Minibatches, and references that a resumed run has to find again.
         "stages.0.update.kl_weight=0.05", "stages.0.update.kl_reference=initial",
         "stages.1.update.responses_per_update=3", "stages.1.update.epochs=2", "stages.1.update.kl_weight=0.05",
         "stages.1.update.kl_reference=stage", "stages.1.update.optimizer.moments=reset",
         # What was imitated has to be imitated again.
         "stages.0.imitation={updates: 2, samples: 5, known_share: 0.5}",
         # Groups without variance are in the update again, and steps are scaled again.
         "stages.0.update.step_scale=informative", "stages.1.zero_variance=keep"]
HERE = one_verifier()


def trace(run):
    timeless = [reproducible(step) for step in read_lines(f"{run}/metrics.jsonl")]
    files = [hashlib.sha256(Path(run, "checkpoints/end_to_end", name).read_bytes()).hexdigest()
             for name in ("model.safetensors", "trainer/optimizer.safetensors")]
    held_out = {name: without_seconds(result) for name, result in json.loads(Path(run, "summary.json").read_text())["held_out"].items()}
    return timeless, files, Path(run, "responses.jsonl").read_text(), held_out


def start(run, *overrides, **environment):
    words = [*MPIRUN, "-np", "2", BINARY, "train", "tests/data/small_run.yaml", f"run.directory={run}", *SMALL, *HERE, *overrides]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
                            cwd=SOURCE, env={**ENVIRONMENT, **environment})


def wait_for_steps(process, run, steps):
    """Until the run has done that many steps (and so has a checkpoint)."""
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline and process.poll() is None:
        file = Path(run, "metrics.jsonl")
        if file.exists() and file.read_text().count("\n") >= steps:
            return
        time.sleep(0.005)
    expect(False, f"{steps} steps within ten minutes", process.poll(), process.stdout.read() if process.poll() is not None else "")


def without_verdicts(run, *overrides):
    """A run whose verifier is killed in the warm-up, before the first question: (exit code, output)."""
    verifier, address = started_verifier("workers=1", *patient(60, prefix=""))
    process = start(run, *overrides, f"verifier.addresses=[{address}]")
    lines = []
    for line in process.stdout:
        lines.append(line)
        if line.startswith("warm_up 1/"):
            verifier.kill()
    return process.wait(timeout=60), "".join(lines)


def rank_pids(run):
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                words = Path("/proc", entry, "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if words[1:2] == [b"train"] and f"run.directory={run}".encode() in words:
                found.append(int(entry))
    return sorted(found)


with folder() as temporary:
    whole = f"{temporary}/whole"
    # With a verifier of its own, as a user's run has; the others share one, and come to the same.
    code, out, err = bicrl("train", "tests/data/small_run.yaml", f"run.directory={whole}", *SMALL, *patient(60), ranks=2)
    expect(code == 0, "the run without faults ends well", out, err)
    expected = trace(whole)
    imitated = [step["imitation_updates"] for step in expected[0] if step["phase"] == "infilling"]
    expect(imitated == [2, 2], "each infilling step imitates twice", imitated)
    for step in expected[0]:
        if step["phase"] == "infilling":
            expect(step.get("step_scale") == (step["informative_groups"] / step["groups"] if step["informative_groups"] else None), "an infilling step is scaled by its informative groups", step)
        if step["phase"] == "end_to_end":
            expect(step["kept_groups"] == step["zero_variance_groups"], "an end-to-end step keeps its groups without variance", step)
            expect(step["updates"] == 6 and step["step_scale"] == 1 or step["masked_rate"] > 0, "and trains on all responses at the whole rate", step)

    # Killed in every phase, once each way; then stopped by Ctrl-C; then to the end.
    run = f"{temporary}/run"
    for steps, victim in ((10, "rank"), (31, "launcher"), (33, "rank")):
        process = start(run)
        wait_for_steps(process, run, steps)
        ranks = rank_pids(run)
        expect(len(ranks) == 2, "two ranks", ranks)
        os.kill(ranks[steps % 2] if victim == "rank" else process.pid, signal.SIGKILL)
        output, _ = process.communicate(timeout=300)
        expect(process.returncode != 0, f"a killed {victim} ends the run", output)
        deadline = time.monotonic() + 300
        while rank_pids(run) and time.monotonic() < deadline:
            time.sleep(0.05)
        expect(not rank_pids(run), "all ranks end", rank_pids(run))
    process = start(run)
    wait_for_steps(process, run, 34)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=300)
    code, out, err = bicrl("train", "tests/data/small_run.yaml", f"run.directory={run}", *SMALL, *HERE, ranks=2)
    expect(code == 0, "the run goes on to its end", out, err)
    found = trace(run)
    for part, name in zip(range(3), ("metrics", "weights and optimizer", "responses")):
        expect(found[part] == expected[part], f"the same {name} as without faults", found[part], expected[part])

    # A second run asks for the directory of one that is at work, which is then stopped.
    long = f"{temporary}/long"
    endless = "warm_up.steps=100000"
    # On a busy machine a step may take longer than ranks have by default.
    process = start(long, endless, OMPI_MCA_odls_base_sigkill_timeout="10")
    wait_for_steps(process, long, 3)
    other = start(long, endless)
    output, _ = other.communicate(timeout=300)
    expect(other.returncode == 2 and "another run is at work" in output, "two runs in one directory are refused", other.returncode, output)
    expect(process.poll() is None, "the first run is not disturbed")
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=300)
    expect("the same command goes on" in output and process.returncode != 0, "Ctrl-C saves and says how to go on", output)
    process = start(long, endless)
    output = ""
    for output in process.stdout:
        if "going on after warm_up step" in output:
            break
    expect("going on after warm_up step" in output, "and it does", output)
    process.send_signal(signal.SIGUSR1)
    output, _ = process.communicate(timeout=300)
    expect("the same command goes on" in output and process.returncode == 130, "so does a batch system's warning", process.returncode, output)

    # What is refused on resume. A run that was stopped early serves all cases.
    half = f"{temporary}/half"
    process = start(half)
    wait_for_steps(process, half, 31)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=300)
    before = {str(p): p.read_bytes() for p in Path(half).rglob("*") if p.is_file() and p.name != "verifier.log"}

    def refused(words, *overrides):
        code, out, err = bicrl("train", "tests/data/small_run.yaml", f"run.directory={half}", *SMALL, *HERE, *overrides)
        expect(code == 2, f"refused with {overrides}", code, out, err)
        for word in words:
            expect(word in err, f"says {word}", err)

    refused(["run.seed: 1 -> 7", "--allow-changed-config"], "run.seed=7")
    latest = Path(half, "checkpoints", Path(half, "checkpoints/latest").read_text().strip())
    for name in ("model.safetensors", "trainer/state.json", "trainer/optimizer.safetensors"):
        file = latest / name
        content = file.read_bytes()
        file.write_bytes(content[:len(content) // 2])
        refused([str(file), "is damaged"])
        file.write_bytes(content)
    # Other tasks under the same configuration; a configuration that is lost.
    inputs = Path(half, "inputs.json")
    inputs.write_text(inputs.read_text().replace('"training tasks": "', '"training tasks": "f'))
    refused(["training tasks", "--allow-changed-config"])
    inputs.write_bytes(before[str(inputs)])
    Path(half, "config.yaml").unlink()
    refused(["config.yaml", "is missing"], "run.seed=9")
    Path(half, "config.yaml").write_bytes(before[f"{half}/config.yaml"])
    Path(half, "run.json").write_text('{"format": 1}\n')
    refused(["another version"])
    Path(half, "run.json").write_text('{"finished":false,"format":6}\n')  # as it was up to protocol 2
    refused(["another protocol of the verifier", "name another folder"])
    Path(half, "run.json").write_bytes(before[f"{half}/run.json"])
    ledger = Path(half, "ledger/rank-0.jsonl")
    entry = json.loads(ledger.read_text().splitlines()[0])
    entry["verdict"]["tier"] = "replay"
    ledger.write_text(json.dumps(entry) + "\n")
    refused([f"{ledger}:1", "another protocol of the verifier"])
    ledger.write_bytes(before[str(ledger)])
    changed = [p for p, content in before.items() if Path(p).read_bytes() != content]
    expect(not changed, "nothing was lost by refused runs", changed)

    # Another reward on resume, without a rebuild and without asking.
    code, out, err = bicrl("train", "tests/data/small_run.yaml", f"run.directory={half}", *SMALL, *HERE,
                           "reward=configs/rewards/pass_rate.yaml", ranks=2)
    expect(code == 0 and "going on with another reward" in err, "the reward can be swapped", code, out, err)
    code, out, err = bicrl("rescore", half, "--reward", "configs/rewards/binary.yaml")
    expect(code == 0 and "before: as the run rewarded" in out and "after:  binary" in out, "rescore compares", out, err)
    stored = [r["reward"] for s in read_lines(f"{half}/responses.jsonl")[-1:] for r in s["responses"] if not r["masked"]]
    mean = sum(stored) / len(stored) if stored else 0.0
    line = [text for text in out.splitlines() if text.startswith("end_to_end") and " 3 " in text][0]
    expect(f"{mean:.4f}" in line, "rescore repeats the stored rewards", mean, line)

    # A finished run keeps what it was rewarded with, whatever it is called with.
    rewarded = Path(half, "reward.yaml").read_text()
    code, out, err = bicrl("train", "tests/data/small_run.yaml", f"run.directory={half}", *SMALL, "--reward",
                           "configs/rewards/binary.yaml")
    expect(code == 0 and "has finished" in out, "a finished run starts nothing", code, out, err)
    expect(Path(half, "reward.yaml").read_text() == rewarded, "a finished run is not changed")
    code, out, err = bicrl("sft", "tests/data/small_run.yaml", f"run.directory={half}", *SMALL)
    expect(code == 2 and "has finished" in err and "stages" in err, "sft is another run than train", code, out, err)

    # Another curriculum, or other tasks, within a stage: refused, or begun anew on demand.
    within = f"{temporary}/within"
    in_stage = ["warm_up.steps=1", "stages.1.steps=100000"]
    process = start(within, *in_stage)
    wait_for_steps(process, within, 4)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=300)
    for change in ("stages.1.curriculum={kind: level}", "tasks.synthetic.seed=2"):
        taken, kept = len(read_lines(f"{within}/metrics.jsonl")), Path(within, "config.yaml").read_bytes()
        process = start(within, *in_stage, change)
        output, _ = process.communicate(timeout=300)
        expect(process.returncode == 2 and "started with another configuration" in output, f"{change} is refused", output)
        expect(Path(within, "config.yaml").read_bytes() == kept, "and changes nothing")
        process = start(within, *in_stage, change, "--allow-changed-config")
        wait_for_steps(process, within, taken + 1)
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=300)
        expect("the same command goes on" in output and output.count("the curriculum of stage end_to_end begins anew") == 1, f"{change} is allowed", output)

    # Killed while its first file was written: an empty folder but for that. No verdicts come: saved, logged, and the same
    # command goes on once there is one. Before the first checkpoint another configuration spoils nothing.
    young = f"{temporary}/young"
    Path(young).mkdir()
    Path(young, "run.json.tmp.123").write_text("{")
    lonely = ["stages=[]", "verifier.max_attempts=1", "verifier.deadline_s=2", "verifier.attempt_s=1"]
    code, out, err = bicrl("train", "tests/data/small_run.yaml", f"run.directory={young}", *SMALL, *lonely, "tasks.train=[/nowhere]")
    expect(code == 2, "broken tasks", code, err)
    code, out, err = bicrl("train", "tests/data/small_run.yaml", f"run.directory={young}", *SMALL, *lonely,
                           "verifier.addresses=[127.0.0.1:9]", ranks=2)
    expect(code == 3 and "no verifier answers" in err and "127.0.0.1:9" in err, "a run needs its verifier from the start", code, out, err)
    code, out = without_verdicts(young, *lonely)
    expect(code == 1 and "4 of 4 responses got no verdict" in out, "an evaluation without verdicts is no result", code, out)
    last = [line for line in out.splitlines() if "checkpoint is" in line]
    expect(len(last) == 1 and f"{young}/checkpoints/warm_up-000002; the same command goes on from there: " in last[0] and " train tests/data/small_run.yaml " in last[0],
           "and names the checkpoint and the command", out)
    expect(not list(Path(young).glob("*.tmp.*")), "leftovers are removed")
    code, out, err = bicrl("train", "tests/data/small_run.yaml", f"run.directory={young}", *SMALL, *lonely, ranks=2)
    expect(code == 0 and "4 " in out, "evaluated once there is a verifier", code, out, err)

    # Not a run directory; a folder that cannot be written.
    Path(temporary, "other").mkdir()
    Path(temporary, "other/file").write_text("x")
    code, out, err = bicrl("train", "tests/data/small_run.yaml", f"run.directory={temporary}/other", *SMALL)
    expect(code == 2 and "no run" in err, "a folder with other files is refused", code, err)
    code, out, err = bicrl("train", "tests/data/small_run.yaml", "run.directory=/proc/run", *SMALL)
    expect(code == 1 and "/proc/run" in err, "an unwritable place is told", code, err)
print("stopped, killed, changed and damaged runs")
