"""Adds saved adapters to the weights that they were trained beside, by PEFT's names and formula, and compares with the weights that
we merged; then opens those with transformers.

oracle_lora.py FOLDER BASE EXPECTED: FOLDER is a saved policy with its adapters in FOLDER/adapter, BASE the frozen weights, EXPECTED
holds the `logits` that we computed with adapters beside the weights for tokens 0, 1, ... under a block-causal mask.
"""
import json
import pathlib
import sys

try:
    import torch
    from safetensors.torch import load_file
    from transformers import Qwen3ForCausalLM
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

folder, base, logits = pathlib.Path(sys.argv[1]), load_file(sys.argv[2]), load_file(sys.argv[3])["logits"]
config = json.loads((folder / "adapter/adapter_config.json").read_text())
assert config["peft_type"] == "LORA" and config["base_model_name_or_path"] == "some/base" and not config.get("use_rslora"), config
adapters = load_file(folder / "adapter/adapter_model.safetensors")
merged = load_file(folder / "model.safetensors")
assert merged.keys() == base.keys(), merged.keys() ^ base.keys()
used = set()
for name, weight in base.items():
    module = name.removesuffix(".weight")
    factors = [f"base_model.model.{module}.lora_{side}.weight" for side in "AB"]
    expected, sizes = weight.double(), weight.double().abs()
    assert (factors[0] in adapters) == (module.rpartition(".")[2] in config["target_modules"]), name
    if factors[0] in adapters:
        a, b = (adapters[factor].double() for factor in factors)
        assert a.shape[0] == b.shape[1] == config["r"], (a.shape, b.shape)
        scaling = config["lora_alpha"] / config["r"]
        expected = expected + scaling * (b @ a)
        sizes = sizes + scaling * (b.abs() @ a.abs())
        used.update(factors)
    # Summed in fp32, rounded once to the weight's type.
    bound = torch.finfo(weight.dtype).eps * expected.abs() + 4 * torch.finfo(torch.float32).eps * sizes
    assert merged[name].dtype == weight.dtype
    assert ((merged[name].double() - expected).abs() <= bound).all(), name
assert used == set(adapters), used ^ set(adapters)

model, report = Qwen3ForCausalLM.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32, output_loading_info=True)
assert not report["missing_keys"] and not report["unexpected_keys"] and not report["mismatched_keys"], report
length = len(logits)
block = torch.arange(length) // model.config.block_size
mask = torch.where(block[None, :] <= block[:, None], 0.0, float("-inf"))
with torch.no_grad():
    theirs = model(input_ids=torch.arange(length)[None], attention_mask=mask[None, None], use_cache=False).logits[0]
worst = (theirs - logits).abs().max().item() / logits.abs().max().item()
assert worst < (1e-4 if merged["model.norm.weight"].dtype == torch.float32 else 5e-2), worst
