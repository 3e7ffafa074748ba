"""A task file whose second entry has a middle without opening quotes: everybody who would ask it clamped refuses it with the same
words, before anything starts; who asks otherwise takes it; strict: false leaves it out."""
import json
from pathlib import Path

from support import SOURCE, bicrl, expect, folder, patient

SMALL = ["warm_up.steps=1", "warm_up.samples_per_step=2", "evaluation.tasks=0", "stages=[]"]

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
print("what training refuses, checks refuse")
