"""bicrl curate with every kind of step, killed at random moments: the same command ends with the same bytes. BICRL_KILLS says how often
it is killed (3); a step alone on the last one's output gives the same as the whole."""
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from support import BINARY, ENVIRONMENT, SOURCE, bicrl, expect, folder, patient

KILLS = int(os.environ.get("BICRL_KILLS", "3"))
KILLS_A_RUN = 4  # at most, before it is taken to its end

PIPELINE = """
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


def outputs(run):
    kept = ("ledger.jsonl", "verifier.log")
    return {str(p.relative_to(run)): p.read_bytes() for p in run.rglob("*") if p.is_file() and p.name not in kept}


def same(found, expected):
    different = sorted(name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name))
    expect(not different, "the same bytes", different)


with folder() as temporary:
    config, run, generate = Path(temporary, "pipeline.yaml"), Path(temporary, "run"), Path(temporary, "generate.yaml")
    config.write_text(PIPELINE.format(run=run, generate=generate))
    generate.write_text(GENERATE)
    command = ["curate", str(config), *patient(600)]
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

    rng = random.Random(5)
    killed = at_work = 0
    while killed < KILLS:
        shutil.rmtree(run)
        for _ in range(min(KILLS_A_RUN, KILLS - killed)):
            process = subprocess.Popen([BINARY, *command], cwd=SOURCE, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(rng.uniform(0, seconds))
            at_work += process.poll() is None
            process.send_signal(signal.SIGKILL)
            process.wait()
            killed += 1
        code, out, err = bicrl(*command)
        expect(code == 0, "goes on after kills", code, out, err)
        same(outputs(run), whole)
print(f"killed {killed} times, {at_work} of them at work: the same bytes as in {seconds:.0f} s undisturbed", file=sys.stderr)
