"""Logits and gradients of transformers' Qwen3ForCausalLM under a block-causal mask, in fp32.

oracle_model.py OUT_FOLDER: writes OUT/NAME/{config.json, model.safetensors} and OUT/NAME/case_T.safetensors with
tokens, targets, logits, those of the model in bfloat16, and as grad.* the gradients of mean(-log_softmax(logits)[targets]).
"""

import copy
import json
import pathlib
import sys

try:
    import torch
    from safetensors.torch import save_file
    from transformers import Qwen3Config, Qwen3ForCausalLM
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

VARIANTS = {
    "tied": dict(tie=True, heads=4, kv_heads=2, head_dim=16, block=4),
    "untied": dict(tie=False, heads=4, kv_heads=1, head_dim=24, block=4),
    "wide_block": dict(tie=False, heads=2, kv_heads=2, head_dim=32, block=8),
    "block_of_16": dict(tie=True, heads=2, kv_heads=1, head_dim=16, block=16),
    "block_of_32": dict(tie=False, heads=6, kv_heads=3, head_dim=8, block=32),
    "block_of_64": dict(tie=False, heads=4, kv_heads=4, head_dim=16, block=64),
    # Of shapes that there are kernels for.
    "head_dim_64": dict(tie=True, heads=6, kv_heads=2, head_dim=64, block=4),
    "head_dim_128": dict(tie=False, heads=4, kv_heads=1, head_dim=128, block=16),
}
LENGTHS = [1, 4, 7, 37, 150, 192]


def block_causal(length, block):
    index = torch.arange(length) // block
    allowed = index[:, None] >= index[None, :]
    return torch.zeros(length, length).masked_fill(~allowed, float("-inf"))[None, None]


def write_variant(folder, tie, heads, kv_heads, head_dim, block):
    folder.mkdir()
    torch.manual_seed(7)
    fields = dict(
        vocab_size=97,
        hidden_size=48,
        intermediate_size=80,
        num_hidden_layers=3,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        head_dim=head_dim,
        max_position_embeddings=256,
        rms_norm_eps=1e-6,
        tie_word_embeddings=tie,
        eos_token_id=1,
        bos_token_id=1,
    )
    rope = {"rope_type": "default", "rope_theta": 10000.0}
    config = Qwen3Config(**fields, rope_parameters=rope, attn_implementation="eager")
    model = Qwen3ForCausalLM(config).float().eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.normal_(1.0, 0.2) if "norm" in name else parameter.normal_(0.0, 0.15)
    extra = dict(model_type="sdar", block_size=block, mask_token_id=96, rope_theta=10000.0, hidden_act="silu")
    (folder / "config.json").write_text(json.dumps({**fields, **extra}))
    parameters = dict(model.named_parameters())
    save_file({name: p.detach().contiguous() for name, p in parameters.items()}, folder / "model.safetensors")
    rounded = copy.deepcopy(model).bfloat16()
    for length in LENGTHS:
        tokens, targets = torch.randint(0, 97, (length,)), torch.randint(0, 97, (length,))
        model.zero_grad()
        logits = model(input_ids=tokens[None], attention_mask=block_causal(length, block), use_cache=False).logits[0]
        torch.nn.functional.cross_entropy(logits, targets).backward()
        with torch.no_grad():
            mask = block_causal(length, block).bfloat16()
            bf16 = rounded(input_ids=tokens[None], attention_mask=mask, use_cache=False).logits[0].float()
        case = {"tokens": tokens, "targets": targets, "logits": logits.detach(), "logits_bf16": bf16}
        case |= {f"grad.{name}": p.grad.clone() for name, p in parameters.items()}
        save_file(case, folder / f"case_{length}.safetensors")


for variant, shape in VARIANTS.items():
    write_variant(pathlib.Path(sys.argv[1]) / variant, **shape)
