"""Opens what we saved with safetensors and transformers.

oracle_reopen.py FOLDER NAME...: FOLDER/NAME is a saved policy; FOLDER/expected_NAME.safetensors (written by us) holds
the parameters by name, `tokens` and the `logits` that we computed under a fully visible mask.
"""

import json
import pathlib
import sys

try:
    import torch
    from safetensors import safe_open
    from safetensors.torch import load_file
    from transformers import AutoTokenizer, GenerationConfig, Qwen3ForCausalLM
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)


def check(folder, expected):
    tokens, logits = expected.pop("tokens"), expected.pop("logits")
    index = folder / "model.safetensors.index.json"
    if index.exists():
        document = json.loads(index.read_text())
        shards = sorted(set(document["weight_map"].values()))
        assert len(shards) > 1, shards
        saved = {name: value for shard in shards for name, value in load_file(folder / shard).items()}
        assert document["metadata"]["total_size"] == sum(t.numel() * t.element_size() for t in saved.values())
    else:
        saved = load_file(folder / "model.safetensors")
        with safe_open(folder / "model.safetensors", "pt") as file:
            assert file.metadata() == {"format": "pt"}, file.metadata()
    assert saved.keys() == expected.keys(), saved.keys() ^ expected.keys()
    for name, value in expected.items():
        assert saved[name].dtype == value.dtype and torch.equal(saved[name], value), name

    model, report = Qwen3ForCausalLM.from_pretrained(
        folder, attn_implementation="eager", dtype=torch.float32, output_loading_info=True
    )
    assert not report["missing_keys"] and not report["unexpected_keys"] and not report["mismatched_keys"], report
    length = len(tokens)
    with torch.no_grad():
        theirs = model(input_ids=tokens[None], attention_mask=torch.zeros(1, 1, length, length), use_cache=False).logits[0]
    worst = (theirs - logits).abs().max().item()
    assert worst < 1e-4, worst
    config = json.loads((folder / "config.json").read_text())
    assert config["architectures"] == ["SDARForCausalLM"] and config["model_type"] == "sdar"
    assert GenerationConfig.from_pretrained(folder).eos_token_id == config["eos_token_id"]
    tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
    assert tokenizer("for i in x<MASK>", add_special_tokens=False).input_ids == tokens.tolist(), tokens


root = pathlib.Path(sys.argv[1])
for name in sys.argv[2:]:
    check(root / name, load_file(root / f"expected_{name}.safetensors"))
