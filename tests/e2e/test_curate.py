"""bicrl curate on the real machine: boxes, an embedded verifier, a policy. Killed at random moments the same command ends with the same
bytes; so it does after a disk that fills up and after a verifier that dies. BICRL_KILLS says how often it is killed (3)."""
import contextlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

from support import BINARY, ENVIRONMENT, SOURCE, bicrl, expect, folder, one_verifier, patient, started_verifier

KILLS = int(os.environ.get("BICRL_KILLS", "3"))
KILLS_A_RUN = 3  # before it is taken to its end

PIPELINE = """
curation: {{directory: {directory}}}
steps:
  - {{step: synthesise, tasks: {{train_compositions: 5, development_compositions: 0}}}}
  - {{step: check_tasks, refuse: [raises, random, not_finite]}}
  - {{step: verify, measure_time: false}}
  - {{step: filter, conditions: [{{value: correct, equals: "true"}}]}}
  - {{step: decontaminate, against: [tests/data/kernelbench_level1.json]}}
  - {{step: write, file: infilling.json, form: infilling}}
  - {{step: write, file: pairs.jsonl, form: pairs, prompt_style: compact}}
"""
EVERY_STEP = """
curation: {{directory: {run}}}
steps:
  - {{step: synthesise, programs: 2, tasks: {{train_compositions: 4, development_compositions: 0}}}}
  - {{step: compose, tasks: 4, seed: 3}}
  - {{step: check_compile}}
  - {{step: augment, variants: 1, factors: ["2"]}}
  - {{step: list_operators}}
  - {{step: deduplicate, of: answer}}
  - {{step: generate, configuration: {generate}, samples: 2, batch: 2, prompt_style: compact}}
  - {{step: verify, measure_time: false}}
  - {{step: count_tokens, tokenizer: configs/quickstart}}
  - {{step: label, label: length, value: program_tokens, average_over: task, classes: [{{name: short, below: 300}}], otherwise: long}}
  - {{step: select, best: [highest correct, lowest program_tokens], keep: 2}}
  - {{step: balance, by: length}}
  - {{step: split}}
  - {{step: fit_to_time, least_ms: 0.01}}
  - {{step: cut_scaffold}}
  - {{step: write, file: pairs.jsonl, form: pairs, prompt_style: compact}}
"""
GENERATE = """
policy: {config: configs/quickstart/policy.json, tokenizer: configs/quickstart}
tasks: unused.json
rollout: {max_new_tokens: 16, temperature: 1.0}
output: unused.jsonl
"""
SAMPLED = """
curation: {{directory: {run}}}
steps:
  - {{step: load, files: [configs/curation/sample_answers.jsonl], limit: 15}}
  - {{step: verify, measure_time: false}}
  - {{step: filter, conditions: [{{value: correct, equals: "true"}}]}}
  - {{step: select, best: [lowest reasoning_tokens], keep: 2}}
  - {{step: augment, variants: 1, factors: ["2"]}}
  - {{step: split}}
  - {{step: write, file: pairs.jsonl, form: pairs}}
"""
IMPATIENT = ["verifier.deadline_s=6", "verifier.backoff_s=0.1"]


def outputs(run):
    kept = ("ledger.jsonl", "verifier.log")
    return {str(p.relative_to(run)): p.read_bytes() for p in Path(run).rglob("*") if p.is_file() and p.name not in kept}


def data_of(run):
    """What does not name the run's directory or its verifier."""
    named = ("pipeline.yaml", "state.json", "card.json", "card.md")
    return {name: content for name, content in outputs(run).items() if name not in named}


def same(found, expected):
    different = sorted(name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name))
    expect(not different, "the same bytes", different)


def one_kill(temporary):
    """Killed with the verifier of its own once some of the work is known; what is misspelt; what the card says."""
    config, run = Path(temporary, "pipeline.yaml"), Path(temporary, "run")
    config.write_text(PIPELINE.format(directory=run))
    code, out, err = bicrl("curate", config, "--dry-run")
    expect(code == 0 and "step: check_tasks" in out and not run.exists(), "--dry-run prints the pipeline and makes nothing", code, out, err)
    code, out, err = bicrl("curate", config, "steps.0.step=sythesise")
    expect(code == 2 and "synthesise" in err, "a misspelt step: the nearest name", code, out, err)
    code, out, err = bicrl("curate", config, "steps.1.unexamind=keep")
    expect(code == 2 and "unexamined" in err, "a misspelt key: the nearest name", code, out, err)

    # Killed once some of the work is known, then taken to the end.
    words = [BINARY, "curate", str(config), *patient(600)]
    process = subprocess.Popen(words, cwd=SOURCE, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    ledger = Path(run, "ledger.jsonl")
    begin = time.monotonic()
    while process.poll() is None and time.monotonic() - begin < 600:
        if ledger.exists() and b'"verdict"' in ledger.read_bytes():
            break
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    known = ledger.read_bytes()
    code, out, err = bicrl("curate", config, *patient(600))
    expect(code == 0, "goes on after a kill", code, out, err)
    expect(ledger.read_bytes().startswith(known[:known.rfind(b"\n") + 1]), "keeps what it knew")
    first = outputs(run)
    tasks = json.loads(Path(run, "infilling.json").read_text())
    pairs = [json.loads(line) for line in Path(run, "pairs.jsonl").read_text().splitlines()]
    expect(len(tasks) == len(pairs) > 0, "an infilling set and pairs of the same records", len(tasks), len(pairs))
    expect(all(t["prefix"] + t["middle"] + t["suffix"] == t["cuda_code"] for t in tasks), "scaffolds are whole")
    card = json.loads(Path(run, "card.json").read_text())
    expect(card["records"] == len(tasks) and any("verifier" in v for v in card["versions"].values()), "the data card counts them and names the verifier", card)

    # From nothing, without a kill. Directories stand in the configuration, so the same one is used.
    for file in sorted(run.rglob("*"), reverse=True):
        file.rmdir() if file.is_dir() else file.unlink()
    code, out, err = bicrl("curate", config, *patient(600))
    expect(code == 0 and outputs(run) == first, "an undisturbed run leaves the same bytes", code, out, err)


def random_kills(temporary, verifier):
    """Every kind of step; and steps alone on the last one's output."""
    config, run, generate = Path(temporary, "every_step.yaml"), Path(temporary, "every_step"), Path(temporary, "generate.yaml")
    config.write_text(EVERY_STEP.format(run=run, generate=generate))
    generate.write_text(GENERATE)
    command = ["curate", str(config), *verifier]
    begin = time.monotonic()
    code, out, err = bicrl(*command)
    expect(code == 0, "an undisturbed run", code, out, err)
    seconds = time.monotonic() - begin
    whole = outputs(run)
    card = json.loads(whole["card.json"])
    expect(card["records"] > 0 and len(card["steps"]) == 16, "records are left at the end", card["steps"])

    # A step alone, on what the one before it left.
    for step in ("split", "select", "augment"):
        code, out, err = bicrl(*command, "--step", step)
        expect(code == 0, f"{step} alone", code, out, err)
        name = next(n for n in whole if n.startswith("records/") and n.endswith(f"-{step}.jsonl"))
        expect(Path(run, name).read_bytes() == whole[name], f"{step} alone gives the same records")
    code, out, err = bicrl(*command)
    expect(code == 0, "goes on behind it", code, out, err)
    same(outputs(run), whole)

    # Only kills of a command at work count. Every so often it is taken to its end, and begun anew.
    rng = random.Random(5)
    killed = 0
    while killed < KILLS:
        shutil.rmtree(run)
        for _ in range(min(KILLS_A_RUN, KILLS - killed)):
            process = subprocess.Popen([BINARY, *command], cwd=SOURCE, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(rng.uniform(0, seconds))
            killed += process.poll() is None
            process.send_signal(signal.SIGKILL)
            process.wait()
        code, out, err = bicrl(*command)
        expect(code == 0, "goes on after kills", code, out, err)
        same(outputs(run), whole)
    print(f"killed {killed} times at work: the same bytes as undisturbed ({seconds:.0f} s)")


@contextlib.contextmanager
def closing_port():
    """Takes connections and closes them without a word, as a verifier with TLS does for a client without."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        def close_each():
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    connection.recv(64)
                    connection.close()

        thread = threading.Thread(target=close_each)
        thread.start()
        try:
            yield f"127.0.0.1:{server.getsockname()[1]}"
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


def verifier_that_dies(config, temporary):
    process, address = started_verifier("workers=1", *patient(60, prefix=""))
    run = Path(temporary, "dying")
    command = ["curate", config, f"curation.directory={run}", f"verifier.addresses=[{address}]", *IMPATIENT]
    ledger = run / "ledger.jsonl"
    done = threading.Event()

    def end_it():
        while not done.is_set():
            if ledger.exists() and ledger.read_bytes().count(b'"verdict"') >= 3:
                process.send_signal(signal.SIGKILL)
                return
            time.sleep(0.01)

    watcher = threading.Thread(target=end_it)
    watcher.start()
    code, out, err = bicrl(*command)
    done.set()
    watcher.join()
    expect(code == 3 and "verifier" in err and address in err, "a verifier that dies is named", code, out, err)
    known = ledger.read_bytes()
    expect(b'"verdict"' in known, "verdicts until then are kept")
    code, out, err = bicrl(*command)
    expect(code == 3 and f"verifier cannot be used: {address}" in err and "is one started there" in err, "none is there: what to do", code, out, err)
    with closing_port() as other:
        code, out, err = bicrl(*command, f"verifier.addresses=[{other}]")
    expect(code == 3 and f"verifier cannot be used: the verifier {other} speaks TLS" in err and "is one started there" not in err,
           "one is there that speaks TLS", code, out, err)
    process, address = started_verifier("workers=1", *patient(60, prefix=""))
    # With the deadline of any run: this one is to end, however busy the machine is.
    command[3:] = [f"verifier.addresses=[{address}]"]
    code, out, err = bicrl(*command)
    expect(code == 0 and ledger.read_bytes().startswith(known), "goes on with another verifier of the kind", code, out, err)
    return data_of(run)


def full_disk(config, temporary, expected, verifier):
    disk = Path(temporary, "disk")
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        print("left out: making a small disk needs the right to mount one")
        return
    try:
        run = disk / "run"
        command = ["curate", config, f"curation.directory={run}", *verifier]
        for size_kb in (64, 160, 320):
            subprocess.run(["mount", "-o", f"remount,size={size_kb}k", str(disk)], check=True)
            code, out, err = bicrl(*command)
            expect(code == 1 and "No space left on device" in err and str(disk) in err, f"{size_kb} kB do not suffice", code, out, err)
        subprocess.run(["mount", "-o", "remount,size=20m", str(disk)], check=True)
        code, out, err = bicrl(*command)
        expect(code == 0, "goes on once there is room", code, out, err)
        same(data_of(run), expected)
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=False)


def faults(temporary, verifier):
    config = Path(temporary, "sampled.yaml")
    config.write_text(SAMPLED.format(run=f"{temporary}/sampled"))
    code, out, err = bicrl("curate", config, *patient(60))
    expect(code == 0, "an undisturbed run", code, out, err)
    whole = data_of(f"{temporary}/sampled")
    same(verifier_that_dies(config, temporary), whole)
    full_disk(config, temporary, whole, verifier)


with folder() as temporary:
    one_kill(temporary)
    # Of the other runs only the undisturbed one of `faults`, which others must equal, has a verifier of its own.
    verifier = one_verifier(600)
    random_kills(temporary, verifier)
    faults(temporary, verifier)
print("curated data do not depend on kills and faults")
