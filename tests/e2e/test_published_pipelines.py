"""The published pipelines of configs/curation from their first step to their last on the data of this repository: CuKe's and ConCuR's
on the sample of answers, CUDA Agent's on few tasks. Counts that do not depend on the machine are fixed here."""
import json
from pathlib import Path

from support import SOURCE, bicrl, expect, folder, one_verifier

# Without published data: the toy tasks stand in for KernelBench's.
WITHOUT_DATA = {"BICRL_DATA": ""}
VERIFIER = one_verifier(600)


def run_of(name, temporary, *overrides):
    """Runs the shipped pipeline; its folder, its data card and what it logged."""
    run = Path(temporary, name)
    code, out, err = bicrl("curate", SOURCE / "configs" / "curation" / f"{name}.yaml", f"curation.directory={run}", *VERIFIER, *overrides,
                           timeout=2000, more_environment=WITHOUT_DATA)
    expect(code == 0, f"{name} runs to its end", code, out, err)
    card = json.loads((run / "card.json").read_text())
    expect("kernelbench_level1.json is not here" in err, f"{name} warns that KernelBench is not kept apart", err)
    expect("3 evaluation tasks" in (run / "card.md").read_text(), f"{name}: the card counts the evaluation's tasks")
    return run, {f"{number} {step['step']}": step for number, step in enumerate(card["steps"], 1)}


def counts_of(steps):
    return {name: (step["in"], step["out"]) for name, step in steps.items()}


def lines(file):
    return [json.loads(line) for line in file.read_text().splitlines()]


def cuke(temporary):
    run, steps = run_of("cuke", temporary)
    counts = counts_of(steps)
    expected = {"1 load": (0, 40), "2 verify": (40, 40), "3 filter": (40, 3), "4 deduplicate": (3, 3), "5 check_tasks": (3, 1),
                "6 augment": (1, 3), "8 filter": (3, 3), "12 write": (3, 3)}
    expect({name: counts[name] for name in expected} == expected, "CuKe's counts", counts)
    expect(steps["5 check_tasks"]["examined"] == counts["5 check_tasks"][0], "the filter examines every pair", steps["5 check_tasks"])
    pairs, triples = lines(run / "pairs.jsonl"), json.loads((run / "infilling.json").read_text())
    expect(len(pairs) == len(triples) == counts["9 decontaminate"][1], "as many pairs and triples as records", len(pairs), len(triples))
    expect(all(t["prefix"] + t["middle"] + t["suffix"] == t["cuda_code"] for t in triples), "scaffolds are whole")


def concur(temporary):
    run, steps = run_of("concur", temporary)
    counts = counts_of(steps)
    expected = {"1 load": (0, 40), "2 check_tasks": (40, 30), "3 generate": (30, 30), "6 verify": (30, 30), "7 filter": (30, 22),
                "8 select": (22, 2), "11 balance": (2, 2), "14 write": (2, 2)}
    expect({name: counts[name] for name in expected} == expected, "ConCuR's counts", counts)
    answers, conversations = lines(run / "concur.jsonl"), lines(run / "messages.jsonl")
    expect(len(answers) == len(conversations) == counts["12 decontaminate"][1], "as many answers as records", len(answers), len(conversations))
    expect(all("<think>" in c["messages"][-1]["content"] for c in conversations), "conversations have their reasoning")


def synthesize(temporary):
    run, steps = run_of("synthesize", temporary, "steps.0.tasks=24")
    counts = counts_of(steps)
    expected = {"1 compose": (0, 24), "2 deduplicate": (24, 24), "3 check_tasks": (24, 16), "4 check_compile": (16, 16),
                "5 decontaminate": (16, 16), "6 fit_to_time": (16, 16), "7 balance": (16, 4)}
    expect({name: counts[name] for name in expected} == expected, "CUDA Agent's counts", counts)
    expect("no record has the operators '1'" in steps["7 balance"]["notes"][0], "too few tasks for the published mix", steps["7 balance"])
    tasks = lines(run / "train.jsonl") + lines(run / "validation.jsonl")
    expect(len(tasks) == counts["8 split"][1] > 0 and all(t["code"] and t["ops"] for t in tasks), "composed tasks in both parts", len(tasks))


with folder() as temporary:
    cuke(temporary)
    concur(temporary)
    synthesize(temporary)
print("published pipelines run to their ends")
