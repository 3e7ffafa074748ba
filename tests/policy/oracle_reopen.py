"""Opens what we saved with safetensors and transformers, without a network.

oracle_reopen.py FOLDER NAME...: FOLDER/NAME is a saved policy; FOLDER/expected_NAME.safetensors (written by us) holds
the parameters by name, `tokens` and the `logits` that we computed under a fully visible mask. A folder whose config.json
has an auto_map is opened by its own Python files, any other as the Qwen3 that it is.
"""

import json
import os
import pathlib
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_HOME"] = str(pathlib.Path(sys.argv[1]) / "hub")  # where transformers copies Python files to

try:
    import torch
    from safetensors import safe_open
    from safetensors.torch import load_file
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, GenerationConfig, Qwen3ForCausalLM
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

    how = {"attn_implementation": "eager", "dtype": torch.float32, "output_loading_info": True}
    if "auto_map" in json.loads((folder / "config.json").read_text()):
        assert type(AutoConfig.from_pretrained(folder, trust_remote_code=True)).__name__ == "SDARConfig"
        model, report = AutoModelForCausalLM.from_pretrained(folder, trust_remote_code=True, **how)
        assert type(model).__name__ == "SDARForCausalLM", type(model)
    else:
        model, report = Qwen3ForCausalLM.from_pretrained(folder, **how)
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
