"""Peers of bench/decode.md on the machine at hand, for a policy of random weights of any shape:

published: the published block-diffusion loop, written plainly with PyTorch: blocks one after the other, each
denoised in some forwards of its rows without storing keys, and one more that stores them (a commit); all
rows' logits, softmax over the vocabulary, torch.multinomial. All sequences go in step, as in a batch of
equal prompts.
autoregressive: `generate` of transformers for a Qwen3 of the same shape, token after token.

  python bench/decode_peers.py published configs/shapes/sdar-1.7b.json --sequences 128 --prompt 1024 --response 64
"""

import argparse
import json
import time

import torch
from transformers import DynamicCache, Qwen3Config, Qwen3ForCausalLM


def make_model(args):
    with open(args.shape) as file:
        shape = json.load(file)
    keys = (
        "vocab_size hidden_size intermediate_size num_hidden_layers num_attention_heads num_key_value_heads "
        "head_dim rms_norm_eps max_position_embeddings initializer_range tie_word_embeddings"
    ).split()
    config = Qwen3Config(**{key: shape[key] for key in keys if key in shape})
    # What newer versions read, and what older ones do.
    config.rope_theta = float(shape["rope_theta"])
    config.rope_parameters = {"rope_type": "default", "rope_theta": float(shape["rope_theta"])}
    config.eos_token_id = config.pad_token_id = config.bos_token_id = None  # responses of full length
    config._attn_implementation = "sdpa"
    torch.set_default_dtype(torch.bfloat16 if args.device == "cuda" else torch.float32)
    with torch.device(args.device):
        model = Qwen3ForCausalLM(config).eval()
    torch.set_default_dtype(torch.float32)
    if args.checkpoint:
        from safetensors.torch import load_file

        weights = load_file(args.checkpoint + "/model.safetensors", device=args.device)
        model.load_state_dict(weights, strict=True)
    return model, shape["block_size"], shape["mask_token_id"]


def make_prompts(args):
    """[sequences, prompt]; those of a group are alike."""
    generator = torch.Generator().manual_seed(3)
    groups = -(-args.sequences // args.group)
    prompts = torch.randint(0, 100, (groups, args.prompt), generator=generator)
    return prompts.repeat_interleave(args.group, 0)[: args.sequences].to(args.device)


def now(args):
    if args.device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


def hidden_states(model, tokens, first, visible, cache):
    """Of tokens at positions from `first` on; visible: [rows, keys], whether a row sees a key."""
    positions = torch.arange(first, first + tokens.shape[1], device=tokens.device)
    return model.model(
        input_ids=tokens,
        position_ids=positions.expand_as(tokens),
        attention_mask=visible.expand(tokens.shape[0], 1, -1, -1),
        past_key_values=cache,
        use_cache=True,
    ).last_hidden_state


def accept(confidence, masked, quota, threshold):
    """Of the masked positions the `quota` surest, or all surer than the threshold where these are more."""
    confidence = confidence.masked_fill(~masked, -torch.inf)
    surest = confidence.topk(quota, dim=1).indices
    accepted = torch.zeros_like(masked).scatter(1, surest, True) & masked
    if threshold > 0:
        sure = confidence > threshold
        accepted = torch.where(sure.sum(1, keepdim=True) >= quota, sure, accepted)
    return accepted


@torch.inference_mode()
def published(args, model, block_size, mask_id):
    prompts = make_prompts(args)
    n, b, steps = args.sequences, block_size, args.steps or block_size
    length = -(-(args.prompt + args.response) // b) * b
    tokens = torch.full((n, length), mask_id, device=args.device)
    tokens[:, : args.prompt] = prompts
    cache = DynamicCache()
    start = now(args)
    stored = args.prompt // b * b
    if stored:
        block_of = torch.arange(stored, device=args.device) // b
        hidden_states(model, tokens[:, :stored], 0, block_of[:, None] >= block_of[None, :], cache)
    prefilled = now(args)
    forwards = 0
    for first in range(stored, length, b):
        block = tokens[:, first : first + b]  # written in place
        visible = torch.ones(b, first + b, dtype=torch.bool, device=args.device)
        for step in range(steps + 1):
            masked = block == mask_id
            hidden = hidden_states(model, block, first, visible, cache)
            forwards += 1
            if not masked.any() or step == steps:
                break  # the commit: its keys stay
            cache.crop(-b)
            weights = torch.softmax(model.lm_head(hidden).float() / args.temperature, -1)  # [n, b, vocab]
            weights[..., mask_id] = 0  # so that what was drawn is not masked again
            drawn = torch.multinomial(weights.view(n * b, -1), 1).view(n, b)
            confidence = weights.gather(-1, drawn[..., None])[..., 0]
            quota = b // steps + (step < b % steps)
            accepted = accept(confidence, masked, max(quota, 1), args.threshold)
            block[accepted] = drawn[accepted]
    finished = now(args)
    assert not (tokens == mask_id).any()
    return prefilled - start, finished - prefilled, forwards


@torch.inference_mode()
def autoregressive(args, model, _block_size, _mask_id):
    prompts = make_prompts(args)

    def generate(count):
        start = now(args)
        out = model.generate(
            prompts,
            attention_mask=torch.ones_like(prompts),
            max_new_tokens=count,
            do_sample=True,
            temperature=args.temperature,
            top_k=0,
            top_p=1.0,
        )
        assert out.shape[1] == args.prompt + count
        return now(args) - start

    first = generate(1)
    return first, generate(args.response) - first, args.response - 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peer", choices=["published", "autoregressive"])
    parser.add_argument("shape", help="config.json of the policy")
    parser.add_argument("--checkpoint", help="folder of a model.safetensors; else random weights")
    parser.add_argument("--sequences", type=int, default=128)
    parser.add_argument("--prompt", type=int, default=1024, help="tokens of a prompt")
    parser.add_argument("--group", type=int, default=16, help="responses to a prompt")
    parser.add_argument("--response", type=int, default=64, help="tokens of a response")
    parser.add_argument("--steps", type=int, default=0, help="denoise steps of a block; 0: its size")
    parser.add_argument("--threshold", type=float, default=0, help="of dynamic decoding; 0: static")
    parser.add_argument("--temperature", type=float, default=1)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = parser.parse_args()
    torch.manual_seed(5)
    model, block_size, mask_id = make_model(args)
    print(
        f"{args.peer}, {args.shape}, {args.sequences} sequences, prompts of {args.prompt} in groups of "
        f"{args.group}, responses of {args.response} ({args.device}, torch {torch.__version__})",
        flush=True,
    )
    run = published if args.peer == "published" else autoregressive
    for name in ("first round", "second round"):
        prompt_seconds, decode_seconds, forwards = run(args, model, block_size, mask_id)
        generated = args.sequences * args.response
        print(
            f"{name}: {generated / (prompt_seconds + decode_seconds):.0f} tok/s with prompts; prompts "
            f"{args.sequences * args.prompt / prompt_seconds:.0f} tok/s in {prompt_seconds:.2f} s; decoding "
            f"{generated / decode_seconds:.0f} tok/s, {forwards / decode_seconds:.1f} forwards/s, "
            f"{decode_seconds * 1e3 / forwards:.3f} ms each, "
            f"{generated / args.sequences / forwards:.2f} tokens each",
            flush=True,
        )


if __name__ == "__main__":
    main()
