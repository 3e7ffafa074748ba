"""One step of each stage on task sets in the published forms, with a tokenizer in SDAR's form and a tiny random policy
(our own files, and the published ones): it runs through, and the rewards are honest (zero)."""
import json
from pathlib import Path

from support import bicrl, expect, folder, one_verifier, ours_and_published, read_json, read_lines


def take_step(stage, tasks, tokenizer, temporary, verifier):
    shape = read_json(tokenizer / "config.json")
    shape.update(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1, head_dim=16,
                 intermediate_size=64)
    Path(f"{temporary}/policy.json").write_text(json.dumps(shape))
    run = f"{temporary}/run"
    Path(f"{temporary}/{stage}.yaml").write_text(json.dumps({
        "run": {"directory": run},
        "policy": {"config": f"{temporary}/policy.json", "tokenizer": str(tokenizer)},
        "tasks": {"train": [str(tasks)], "prompt_style": "published"},
        "rollout": {"max_new_tokens": 64, "max_active": 16},
        "stages": [{"stage": stage, "steps": 1, "tasks_per_step": 4, "samples_per_task": 2}],
        "evaluation": {"tasks": 0},
        "reward": "configs/rewards/binary.yaml",
    }))
    code, out, err = bicrl("train", f"{temporary}/{stage}.yaml", *verifier)
    expect(code == 0, f"{stage}: the step runs through", out, err)
    (step,) = read_lines(f"{run}/metrics.jsonl")
    expect(step["responses"] == 8, f"{stage}: all responses counted", step)
    expect(step["reward_mean"] == 0 and step["correct_rate"] == 0, f"{stage}: nothing is correct by chance", step)
    print(f"{tasks}: {step['generated_tokens']} tokens, step {step['step_seconds']:.1f} s, {step['fault_classes']}")


verifier = one_verifier()
tokenizers = ours_and_published("tokenizer", "sdar-8b")
for stage in ("infilling", "end_to_end"):
    name = f"{stage}_tasks.json"
    for tasks, tokenizer in zip(ours_and_published(name, name), tokenizers):
        with folder() as temporary:
            take_step(stage, tasks, tokenizer, temporary, verifier)
