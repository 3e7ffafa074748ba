"""bicrl curate on the real machine: boxes, an embedded verifier, a kill in the middle, and the same bytes in the end."""
import json
import signal
import subprocess
import time
from pathlib import Path

from support import BINARY, ENVIRONMENT, SOURCE, bicrl, expect, folder, patient

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


def outputs(run):
    kept = ("ledger.jsonl", "verifier.log")
    return {str(p.relative_to(run)): p.read_bytes() for p in Path(run).rglob("*") if p.is_file() and p.name not in kept}


with folder() as temporary:
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
    expect(card["records"] == len(tasks) and card["versions"]["verifier"], "the data card counts them and names the verifier", card)

    # From nothing, without a kill. Directories stand in the configuration, so the same one is used.
    for file in sorted(run.rglob("*"), reverse=True):
        file.rmdir() if file.is_dir() else file.unlink()
    code, out, err = bicrl("curate", config, *patient(600))
    expect(code == 0 and outputs(run) == first, "an undisturbed run leaves the same bytes", code, out, err)
print("curated data do not depend on a kill")
