"""What PyTorch's own attention reaches on the shapes of bench/attention/pack_attention.cpp: flex_attention with the pack's
mask, and, as an upper reference, plain causal attention (which cannot express the mask) by cuDNN and by flash
attention, over sequences with about as many keys a row. Rates by the mask's pairs; backward counts 2.5 times forward.

    python3 bench/attention/pack_attention_peers.py --heads 16 --kv-heads 8 --responses 8 --tokens 1024 --rounds 1 [--autotune]
"""
import argparse
import json

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

options = argparse.ArgumentParser()
for name, value in dict(heads=16, kv_heads=8, head_dim=128, block_size=4, groups=1, prompt=512, responses=8,
                        tokens=1024, rounds=1, repeats=10).items():
    options.add_argument("--" + name.replace("_", "-"), type=int, default=value)
options.add_argument("--autotune", action="store_true")
options.add_argument("--skip-causal", action="store_true")
options.add_argument("--errors", action="store_true", help="of flex_attention, and of fp32 scores, against fp64; a few rows")
o = options.parse_args()
device = "cuda"


def median_ms(work):
    times = []
    for i in range(o.repeats + 3):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        work()
        end.record()
        end.synchronize()
        if i >= 3:
            times.append(begin.elapsed_time(end))
    return sorted(times)[len(times) // 2]


def report(name, attend, q, k, v, pairs):
    q, k, v = (x.requires_grad_(True) for x in (q, k, v))
    forward = median_ms(lambda: attend(q, k, v))
    out = attend(q, k, v)
    grad = torch.randn_like(out)
    backward = median_ms(lambda: torch.autograd.grad(out, (q, k, v), grad, retain_graph=True))
    flops = 4 * pairs * q.shape[1] * q.shape[3]
    print(json.dumps({"peer": name, "forward_ms": round(forward, 4), "backward_ms": round(backward, 4),
                      "forward_tflops": round(flops / forward / 1e9, 1),
                      "backward_tflops": round(2.5 * flops / backward / 1e9, 1)}), flush=True)


def heads_of(batch, rows, heads):
    return torch.randn(batch, heads, rows, o.head_dim, device=device, dtype=torch.bfloat16)


# ---- The pack, row by row: group, response (-1: the prompt), block, noise (0: clean, 1.. its number in the response)
group, response, block, noise = [], [], [], []
first = o.prompt // o.block_size
for g in range(o.groups):
    for i in range(o.prompt):
        group.append(g), response.append(-1), block.append(i // o.block_size), noise.append(0)
    for r in range(o.responses):
        for i in range(o.tokens):
            group.append(g), response.append(r), block.append(first + i // o.block_size), noise.append(0)
        for b in range(o.tokens // o.block_size):
            for turn in range(o.rounds):
                for i in range(o.block_size):
                    group.append(g), response.append(r), block.append(first + b)
                    noise.append(1 + b * o.rounds + turn)
rows = len(group)
group, response, block, noise = (torch.tensor(x, device=device, dtype=torch.int32)
                                 for x in (group, response, block, noise))


def sees(b, h, q, k):
    known = (group[q] == group[k]) & ((response[k] == -1) | (response[k] == response[q]))
    context = (noise[k] == 0) & torch.where(noise[q] == 0, block[k] <= block[q], block[k] < block[q])
    own = (noise[q] > 0) & (noise[q] == noise[k]) & (response[q] == response[k])
    return known & (context | own)


pairs = 0
every = torch.arange(rows, device=device)[None]
for start in range(0, rows, 1024):
    pairs += int(sees(0, 0, torch.arange(start, min(rows, start + 1024), device=device)[:, None], every).sum())
print(json.dumps({"rows": rows, "pairs_per_row": round(pairs / rows, 1), "card": torch.cuda.get_device_name(),
                  "torch": torch.__version__}), flush=True)

# ---- Upper references
if not (o.skip_causal or o.errors):
    length = max(128, round(2 * pairs / rows / 128) * 128)
    batch = max(1, rows // length)
    q, k, v = heads_of(batch, length, o.heads), heads_of(batch, length, o.kv_heads), heads_of(batch, length, o.kv_heads)
    causal_pairs = batch * length * (length + 1) // 2
    repeated = [x.repeat_interleave(o.heads // o.kv_heads, 1) for x in (k, v)]
    for name, backend, keys in (("causal, cuDNN", SDPBackend.CUDNN_ATTENTION, (k, v)),
                                ("causal, flash, keys repeated", SDPBackend.FLASH_ATTENTION, repeated)):
        try:
            with sdpa_kernel(backend):
                report(f"{name}, {batch} x {length}",
                       lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True,
                                                                      enable_gqa=k.shape[1] != q.shape[1]),
                       q.detach(), keys[0].detach(), keys[1].detach(), causal_pairs)
        except RuntimeError as error:
            print(json.dumps({"peer": name, "error": str(error).splitlines()[0]}), flush=True)

# ---- The same mask
mask = torch.compile(create_block_mask)(sees, None, None, rows, rows, device=device)
flex = torch.compile(flex_attention, **({"mode": "max-autotune-no-cudagraphs"} if o.autotune else {}))


def flex_pass(q, k, v):
    return flex(q, k, v, block_mask=mask, enable_gqa=True)


def dense_pass(dtype):
    """All pairs, computed in that type; results in bf16 unless it is fp64."""
    def attend(q, k, v):
        q, k, v = (x.to(dtype) for x in (q, k, v))
        k, v = (x.repeat_interleave(o.heads // o.kv_heads, 1) for x in (k, v))
        scores = q @ k.transpose(2, 3) / o.head_dim ** 0.5
        out = scores.masked_fill(~seen, float("-inf")).softmax(-1) @ v
        return out if dtype == torch.float64 else out.bfloat16()
    return attend


def results(attend, q, k, v, grad):
    q, k, v = (x.detach().to(torch.float64 if grad.dtype == torch.float64 else torch.bfloat16).requires_grad_(True)
               for x in (q, k, v))
    out = attend(q, k, v)
    return [out.detach(), *torch.autograd.grad(out, (q, k, v), grad)]


if o.errors:
    torch.backends.cuda.matmul.allow_tf32 = False
    seen = sees(0, 0, torch.arange(rows, device=device)[:, None], every)
    q, k, v, grad = heads_of(1, rows, o.heads), *(heads_of(1, rows, o.kv_heads) for _ in range(2)), heads_of(1, rows, o.heads)
    exact = results(dense_pass(torch.float64), q, k, v, grad.double())
    for name, attend in (("flex_attention", flex_pass), ("fp32 scores", dense_pass(torch.float32))):
        for part, got, want in zip(("out", "grad_q", "grad_k", "grad_v"), results(attend, q, k, v, grad), exact):
            gap = (got.double() - want).abs()
            print(json.dumps({"peer": name, "of": part, "mean_error": float(gap.mean()), "largest": float(gap.max())}))
    raise SystemExit

report("flex_attention" + (", autotuned" if o.autotune else ""), flex_pass, heads_of(1, rows, o.heads),
       heads_of(1, rows, o.kv_heads), heads_of(1, rows, o.kv_heads), pairs)
