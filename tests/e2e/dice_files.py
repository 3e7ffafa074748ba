"""What the DICE configurations need and do not bring, small."""
import json
from pathlib import Path

from support import bicrl, expect, read_json


def lay_out(data, temporary):
    """Files by the names that the configurations use. The published infilling tasks are both the training and the held-out file,
    each a part of them: the 992 of the publication are not public."""
    infilling = read_json(data / "infilling_tasks.json")
    Path(temporary, "tasks").mkdir()
    half = len(infilling) // 2
    Path(temporary, "tasks", "kernel_infilling.json").write_text(json.dumps(infilling[:half]))
    Path(temporary, "tasks", "kernel_infilling_eval.json").write_text(json.dumps(infilling[half:]))
    Path(temporary, "tasks", "end_to_end_tasks.json").write_bytes((data / "end_to_end_tasks.json").read_bytes())


def tiny_policy(tokenizer, temporary):
    shape = read_json(tokenizer / "config.json")
    shape.update(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1, head_dim=16, intermediate_size=64)
    Path(temporary, "policy.json").write_text(json.dumps(shape))
    code, out, err = bicrl("init", f"{temporary}/policy.json", f"{temporary}/policy", "--tokenizer", tokenizer, "--dtype", "bfloat16")
    expect(code == 0, "a tiny policy is drawn", out, err)
