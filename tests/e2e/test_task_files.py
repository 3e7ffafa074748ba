"""A task file whose second entry has a middle without opening quotes: everybody who would ask it clamped refuses it with the same
words, before anything starts; who asks otherwise takes it; strict: false leaves it out."""
import json
from pathlib import Path

from support import DATA, SOURCE, bicrl, expect, folder, patient, read_json, read_lines

SMALL = ["warm_up.steps=1", "warm_up.samples_per_step=2", "evaluation.tasks=0", "stages=[]"]

TEXT = """import torch
{constants}
class Model(torch.nn.Module):
    def forward(self, x):
        return {forward}
def get_inputs():
    return [torch.rand({shape})]
def get_init_inputs():
    return []
"""
LARGE = (("Row_sums", "rows = 16384\ncolumns = 4096 * 8", "x.sum(dim=1)", "rows, columns"),
         ("Square", "N = 4096 * 4", "x @ x", "N, N"),
         ("Fixed", "n = 50000", "x.reshape(50000, 50000).exp()", "n, n"),
         ("Small", "n = 64", "x.exp()", "n, n"))

with folder() as temporary:
    good, broken = json.loads(Path(SOURCE, "tests/data/infilling_tasks.json").read_text())[:2]
    middle = broken["middle"].replace('"""', "'")
    broken.update(middle=middle, cuda_code=broken["prefix"] + middle + broken["suffix"])
    tasks = Path(temporary, "tasks.json")
    tasks.write_text(json.dumps([good, broken]))
    run = Path(temporary, "run")
    of_run = ["tests/data/small_run.yaml", f"tasks={{train: [{tasks}], prompt_style: compact}}", f"run.directory={run}", *SMALL]
    of_policy = ("policy: {config: configs/quickstart/policy.json, tokenizer: configs/quickstart}\nstage: infilling\n"
                 "rollout: {max_new_tokens: 4}\n")
    generate, evaluate = Path(temporary, "generate.yaml"), Path(temporary, "eval.yaml")
    generate.write_text(of_policy + f"tasks: {tasks}\nprompt_style: compact\noutput: {temporary}/out.jsonl\n")
    evaluate.write_text(of_policy + f"tasks: {{files: [{tasks}], prompt_style: compact}}\n")

    words = f'{tasks}: entry 2: middle: has no opening """'
    for name, command in {"tasks --check": ["tasks", *of_run, "--check"], "tasks": ["tasks", *of_run],
                          "train --dry-run": ["train", *of_run, "--dry-run"], "train": ["train", *of_run], "sft": ["sft", *of_run],
                          "generate --dry-run": ["generate", generate, "--dry-run"], "generate": ["generate", generate],
                          "eval --dry-run": ["eval", evaluate, "--dry-run"], "eval": ["eval", evaluate]}.items():
        code, out, err = bicrl(*command)
        expect(code == 2 and words in err and "rollout.scaffold: prompt" in err, f"{name}: refused with entry and remedy", code, out, err)
        expect(not run.exists(), f"{name}: before anything starts")
    code, out, err = bicrl("verify", "--tasks", tasks, *patient(600))
    expect(code == 2 and words in err and "training refuses 1 entries" in out, "verify: says it beside the verdicts", code, out, err)

    for name, more in {"asked otherwise": ["rollout.scaffold=prompt"], "left out": ["tasks.strict=false"]}.items():
        code, out, err = bicrl("train", *of_run, *more, "--dry-run")
        expect(code == 0 and (words in err) == (name == "left out"), name, code, out, err)

    # Files that have ids in common are written as one that can be read: with the whole ids.
    for name in ("one", "two"):
        Path(temporary, f"{name}.json").write_text(json.dumps([good]))
    written = Path(temporary, "written")
    for files, expected in (([temporary + "/one.json"], [good["id"]]),
                            ([temporary + "/one.json", temporary + "/two.json"], [f"one:{good['id']}", f"two:{good['id']}"])):
        words = ["tests/data/small_run.yaml", f"run.directory={run}", *SMALL]
        code, out, err = bicrl("tasks", *words, f"tasks={{train: [{', '.join(files)}], prompt_style: compact}}", "--write", written)
        expect(code == 0 and [entry["id"] for entry in read_json(written / "train.json")] == expected, "the ids that are written", code, out, err)
        code, out, err = bicrl("tasks", *words, f"tasks={{train: [{written}/train.json], prompt_style: compact}}")
        expect(code == 0 and f"train: {len(files)} tasks" in out, "and read again", code, out, err)

    large = Path(temporary, "large.json")
    large.write_text(json.dumps([{"level": 1, "problem_id": number, "name": f"{number}_{name}",
                                  "pytorch_code": TEXT.format(constants=constants, forward=forward, shape=shape)}
                                 for number, (name, constants, forward, shape) in enumerate(LARGE, 1)]))
    run = Path(temporary, "large")
    of_run = ["tests/data/small_run.yaml", f"run.directory={run}", "warm_up.steps=0", "evaluation.tasks=0", "rollout.max_new_tokens=8",
              "stages=[{stage: end_to_end, steps: 2, tasks_per_step: 4, samples_per_task: 2}]", *patient(600)]
    code, out, err = bicrl("tasks", *of_run, f"tasks={{train: [{large}], prompt_style: compact}}", "--check")
    lines = {line.split()[1]: line for line in out.splitlines() if "  own size " in line}
    expect(code == 0 and sorted(lines) == ["large:level_1_problem_1", "large:level_1_problem_2"], "sizes of what is too large", code, out, err)
    expect("2048 MiB of inputs" in lines["large:level_1_problem_1"] and "graded at reduced sizes: " in lines["large:level_1_problem_1"]
           and "columns=" in lines["large:level_1_problem_1"], "its own and the reduced ones", lines)
    expect("large:level_1_problem_3  too_large: " in out and "no smaller values of its constants" in out, "what has no smaller size", out)
    expect("2 of 4 tasks are too large for references on the CPU, and are graded at reduced sizes; at their own size, on a GPU" in out, "how many", out)
    expect("level_1_problem_1  defect" not in out and "level_1_problem_2  defect" not in out, "examined at a size that can be run", out)
    # Sizes by hand: the task's own fault if they are none, whether it is too large or not.
    entries = json.loads(large.read_text())
    by_hand = Path(temporary, "by_hand.json")
    sizes = {1: [{"rows": 33, "columns": 70}, {"rows": 1}], 2: [{"N": 100}], 3: [{"n": 50}], 4: [{"n": 40}, {"m": 3}]}
    by_hand.write_text(json.dumps([{**entry, "reduced_sizes": sizes[entry["problem_id"]]} for entry in entries]))
    code, out, err = bicrl("tasks", *of_run, f"tasks={{train: [{by_hand}], prompt_style: compact}}", "--check")
    faults = {line.split()[1]: line for line in out.splitlines() if "  raises: " in line or "  missing: " in line}
    expect(code == 0 and set(faults) == {f"by_hand:level_1_problem_{number}" for number in (1, 3, 4)}, "sizes that are none", code, out, err)
    expect("at reduced_sizes {'rows': 1}: the ranks" in faults["by_hand:level_1_problem_1"]
           and "at reduced_sizes {'n': 50}: forward() raises" in faults["by_hand:level_1_problem_3"]
           and "reduced_sizes names 'm'" in faults["by_hand:level_1_problem_4"], "are named with the reason", faults)
    expect("by_hand:level_1_problem_2  own size" in out and "graded at reduced sizes: N=100;" in out, "those that are, too", out)

    for number, path in enumerate([large, *([DATA / "kernelbench_level1.json"] if (DATA / "kernelbench_level1.json").exists() else [])]):
        code, out, err = bicrl("train", *of_run, f"tasks={{train: [{path}], prompt_style: compact}}", f"run.directory={run}-{number}")
        expect(code == 0 and "end_to_end 2/2" in out, "a run on large tasks", code, out, err)
        expect(all(step["responses"] == 8 and step["infrastructure_rate"] == 0 for step in read_lines(f"{run}-{number}/metrics.jsonl")),
               "every response has a verdict", out)
print("what training refuses, checks refuse")
