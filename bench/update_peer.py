"""What a user would write with PyTorch for an update of a block-diffusion policy, on the rows of bench_update.

  python bench/update_peer.py configs/shapes/sdar-1.7b.json --prompt 512 --samples 8 --response 1024 [--whole]
  python bench/update_peer.py configs/shapes/sdar-1.7b.json --literal      the published trainer, written plainly

The peer: torch.compile of each layer, flex_attention with a block mask, products fused over q, k, v and over gate
and up, the head in chunks, bf16. --whole adds fp32 sums of the gradient over packs, clipping, fused AdamW on fp32
masters and the copy back to bf16. --recompute computes every layer again; --lora trains adapters alone.

bench/many_gpus/fsdp_peer.py is the same by FSDP2 over several GPUs. Without a GPU nothing is compiled and attention has a
dense mask: that tries out the flow, and measures nothing.

The literal trainer: each response is a row [prompt | response | noisy response] of its own, padded to one length, with
a dense mask and logits of every noisy position in fp32.

The rows: a prompt of whole blocks that a group's responses share; of each response its clean rows but for the last
block, and for each round its noisy blocks, of which two rows are scored.
"""
import argparse
import json
import math
import os

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

HAS_GPU, PEAK_FLOPS = torch.cuda.is_available(), 989.4e12
DEVICE = f"cuda:{os.environ.get('LOCAL_RANK', 0)}" if HAS_GPU else "cpu"
if HAS_GPU:
    torch.cuda.set_device(DEVICE)
parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("shape")
parser.add_argument("--layers", type=int, default=0)
parser.add_argument("--groups", type=int, default=1)
parser.add_argument("--samples", type=int, default=8)
parser.add_argument("--prompt", type=int, default=512)
parser.add_argument("--response", type=int, default=1024)
parser.add_argument("--shortest", type=int, default=0, help="of the shortest response of a group, if they differ")
parser.add_argument("--rounds", type=int, default=1)
parser.add_argument("--packs", type=int, default=1, help="groups are dealt to so many packs of equal rows")
parser.add_argument("--recompute", action="store_true")
parser.add_argument("--lora", type=int, default=0)
parser.add_argument("--whole", action="store_true")
parser.add_argument("--literal", action="store_true")
parser.add_argument("--repeats", type=int, default=5)
options = parser.parse_args()
config = json.load(open(options.shape))
HIDDEN, HEADS, KV_HEADS = config["hidden_size"], config["num_attention_heads"], config["num_key_value_heads"]
HEAD_DIM, INNER, VOCAB, BLOCK = config["head_dim"], config["intermediate_size"], config["vocab_size"], config["block_size"]
EPS, THETA = config["rms_norm_eps"], config["rope_theta"]
LAYERS = options.layers or config["num_hidden_layers"]
QKV = (HEADS + 2 * KV_HEADS) * HEAD_DIM
CHUNK = 4096  # rows that have logits at a time


def report(**figures):
    print(json.dumps(figures), flush=True)


def compile_on_gpu(function, **settings):
    return torch.compile(function, **settings) if HAS_GPU else function


def synchronize():
    if HAS_GPU:
        torch.cuda.synchronize()


def peak_gib():
    return torch.cuda.max_memory_allocated() / 2**30 if HAS_GPU else 0.0


def milliseconds(work, repeats=None, warm_ups=2):
    for _ in range(warm_ups):
        work()
    torch.cuda.synchronize()
    begin, end = torch.cuda.Event(True), torch.cuda.Event(True)
    repeats = repeats or options.repeats
    begin.record()
    for _ in range(repeats):
        work()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) / repeats


def response_tokens(sample):
    if options.shortest == 0 or options.samples == 1:
        return options.response
    return (options.shortest + (options.response - options.shortest) * sample // (options.samples - 1)) // BLOCK * BLOCK


class Rows:
    """Of one pack: for each row its group, response (-1: the prompt), round (0: clean), block and position."""

    def __init__(self, groups):
        columns = []
        for group in range(groups):
            columns += [(group, -1, 0, t // BLOCK, t) for t in range(options.prompt)]
            for sample in range(options.samples):
                response = group * options.samples + sample
                positions = range(options.prompt, options.prompt + response_tokens(sample))
                columns += [(group, response, 0, p // BLOCK, p) for p in positions[:-BLOCK]]
                for round_ in range(1, options.rounds + 1):
                    columns += [(group, response, round_, p // BLOCK, p) for p in positions]
        table = torch.tensor(columns, device=DEVICE).t().contiguous()
        self.group, self.response, self.round, self.block, self.position = table
        self.count = table.shape[1]
        self.mask = self.make_mask()
        # Two tokens of each noisy block: those that the round accepts.
        offset = self.position % BLOCK
        self.scored = torch.nonzero((self.round > 0) & (offset // 2 == self.round - 1))[:, 0]
        ids = max(1, VOCAB - 300)
        self.tokens = torch.randint(0, ids, (self.count,), device=DEVICE)
        self.labels = torch.randint(0, ids, (len(self.scored),), device=DEVICE)

    def make_mask(self):
        # A function of tensors alone, which the compiler takes as inputs.
        group, response, round_, block = self.group, self.response, self.round, self.block

        def mask(b, h, q, k):
            seen = (response[k] == -1) | (response[k] == response[q])
            is_before = torch.where(round_[q] == 0, block[k] <= block[q], block[k] < block[q])
            is_own = (round_[q] > 0) & (round_[k] == round_[q]) & (response[k] == response[q]) & (block[k] == block[q])
            return (group[q] == group[k]) & seen & (((round_[k] == 0) & is_before) | is_own)

        return mask

    def pairs(self):
        total, keys = 0, torch.arange(self.count, device=DEVICE)[None]
        for begin in range(0, self.count, 2048):
            queries = torch.arange(begin, min(self.count, begin + 2048), device=DEVICE)[:, None]
            total += int(self.mask(0, 0, queries, keys).sum())
        return total


class Adapter(nn.Module):
    def __init__(self, inner, outs):
        super().__init__()
        self.a = nn.ParameterList([nn.Parameter(torch.randn(options.lora, inner) / math.sqrt(inner)) for _ in outs])
        self.b = nn.ParameterList([nn.Parameter(torch.zeros(out, options.lora)) for out in outs])
        self.scaling = 32.0 / options.lora

    def forward(self, x):
        return torch.cat([F.linear(F.linear(x, a), b) for a, b in zip(self.a, self.b)], -1) * self.scaling


class Linear(nn.Module):
    def __init__(self, inner, outs):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(sum(outs), inner) * 0.02)
        self.adapter = Adapter(inner, outs) if options.lora else None

    def forward(self, x):
        y = F.linear(x, self.weight)
        return y if self.adapter is None else y + self.adapter(x)


def rotate(x, cos, sin):
    first, second = x.chunk(2, -1)
    return x * cos[:, None] + torch.cat((-second, first), -1) * sin[:, None]


def attention(q, k, v, mask):
    if HAS_GPU:
        return flex_attention(q, k, v, block_mask=mask, enable_gqa=True)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.input_norm, self.post_norm = nn.RMSNorm(HIDDEN, EPS), nn.RMSNorm(HIDDEN, EPS)
        self.q_norm, self.k_norm = nn.RMSNorm(HEAD_DIM, EPS), nn.RMSNorm(HEAD_DIM, EPS)
        kv = KV_HEADS * HEAD_DIM
        self.qkv, self.out = Linear(HIDDEN, (HEADS * HEAD_DIM, kv, kv)), Linear(HEADS * HEAD_DIM, (HIDDEN,))
        self.gate_up, self.down = Linear(HIDDEN, (INNER, INNER)), Linear(INNER, (HIDDEN,))

    def forward(self, x, cos, sin, mask):
        rows = x.shape[0]
        heads = self.qkv(self.input_norm(x)).view(rows, -1, HEAD_DIM)
        q, k, v = heads.split((HEADS, KV_HEADS, KV_HEADS), 1)
        q, k = rotate(self.q_norm(q), cos, sin), rotate(self.k_norm(k), cos, sin)
        q, k, v = (t.transpose(0, 1)[None] for t in (q, k, v))
        mixed = attention(q, k, v, mask)[0].transpose(0, 1).reshape(rows, -1)
        x = x + self.out(mixed)
        gate, up = self.gate_up(self.post_norm(x)).chunk(2, -1)
        return x + self.down(F.silu(gate) * up)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, HIDDEN)
        self.layers = nn.ModuleList([Layer() for _ in range(LAYERS)])
        self.norm, self.head = nn.RMSNorm(HIDDEN, EPS), nn.Linear(HIDDEN, VOCAB, bias=False)
        for module in (self.embedding, self.head):
            nn.init.normal_(module.weight, 0, 0.02)


layer_forward = compile_on_gpu(Layer.forward, dynamic=False)


@compile_on_gpu
def cross_entropy(logits, labels, weights):
    losses = F.cross_entropy(logits.float(), labels, reduction="none")
    return (losses * weights).sum()


class Pack:
    def __init__(self, groups):
        self.rows = Rows(groups)
        count = self.rows.count
        if HAS_GPU:
            self.mask = torch.compile(create_block_mask)(self.rows.mask, None, None, count, count, device=DEVICE)
        else:
            indices = torch.arange(count)
            self.mask = self.rows.mask(0, 0, indices[:, None], indices[None])
        inverse = THETA ** (-torch.arange(0, HEAD_DIM, 2, device=DEVICE) / HEAD_DIM)
        angles = self.rows.position[:, None] * inverse[None]
        self.cos, self.sin = (torch.cat((f(angles),) * 2, -1).bfloat16() for f in (torch.cos, torch.sin))
        self.weights = torch.full((len(self.rows.scored),), 1e-4, device=DEVICE)


def compiled(layer, *inputs):
    if options.recompute:
        return torch.utils.checkpoint.checkpoint(layer_forward, layer, *inputs, use_reentrant=False)
    return layer_forward(layer, *inputs)


def scored_hidden(policy, pack, through=compiled):
    """Hidden states of the scored rows, and the loss's gradient by them. The head has its gradient then."""
    x = policy.embedding(pack.rows.tokens)
    if options.lora:
        x.requires_grad_(True)  # so that recomputation has something to reach
    for layer in policy.layers:
        x = through(layer, x, pack.cos, pack.sin, pack.mask)
    hidden = policy.norm(x[pack.rows.scored])
    leaf, gradient = hidden.detach(), torch.empty_like(hidden)
    for begin in range(0, len(leaf), CHUNK):
        chunk = leaf[begin : begin + CHUNK].requires_grad_()
        logits = F.linear(chunk, policy.head.weight)
        cross_entropy(logits, pack.rows.labels[begin : begin + CHUNK], pack.weights[begin : begin + CHUNK]).backward()
        gradient[begin : begin + CHUNK] = chunk.grad
    return hidden, gradient


def forward_backward(policy, pack):
    hidden, gradient = scored_hidden(policy, pack)
    hidden.backward(gradient)


class Optimizer:
    """Sums of gradients over packs in fp32, clipping, fused AdamW on fp32 masters."""

    def __init__(self, parameters):
        self.parameters = parameters
        self.masters = [p.detach().float() for p in parameters]
        for master in self.masters:
            master.grad = torch.zeros_like(master)
        self.adamw = torch.optim.AdamW(self.masters, lr=1e-6, weight_decay=0.0, fused=True)

    def accumulate(self):
        torch._foreach_add_([m.grad for m in self.masters], [p.grad for p in self.parameters])
        for p in self.parameters:
            p.grad = None

    @torch.no_grad()
    def step(self):
        torch.nn.utils.clip_grad_norm_(self.masters, 1.0, foreach=True)
        self.adamw.step()
        torch._foreach_copy_(self.parameters, self.masters)
        self.adamw.zero_grad(set_to_none=False)


def model_flops(rows, scored, pairs):
    layer = HIDDEN * ((2 * HEADS + 2 * KV_HEADS) * HEAD_DIM + 3 * INNER)
    matrices = (4 if options.lora else 6) * (rows * LAYERS * layer + scored * HIDDEN * VOCAB)
    return matrices + 12 * pairs * HEADS * HEAD_DIM * LAYERS


def run_peer():
    torch.manual_seed(0)
    packs = [Pack(options.groups // options.packs) for _ in range(options.packs)]
    rows, scored = sum(p.rows.count for p in packs), sum(len(p.rows.scored) for p in packs)
    pairs = sum(p.rows.pairs() for p in packs)
    report(peer="compiled", layers=LAYERS, rows=rows, packs=len(packs), scored=scored, pairs_per_row=pairs / rows,
           recompute=options.recompute, lora=options.lora)
    with torch.device(DEVICE):
        policy = Policy().bfloat16()
    if options.lora:
        for name, parameter in policy.named_parameters():
            parameter.requires_grad_(".adapter." in name)
    trained = [p for p in policy.parameters() if p.requires_grad]

    def passes():
        for pack in packs:
            forward_backward(policy, pack)
            for p in trained:
                p.grad = None

    flops = model_flops(rows, scored, pairs)

    def figures(ms):
        return dict(ms=ms, rows_per_s=rows / ms * 1e3, mfu=flops / (ms * 1e-3) / PEAK_FLOPS,
                    peak_gib=torch.cuda.max_memory_allocated() / 2**30)

    torch.cuda.reset_peak_memory_stats()
    report(what="forward and backward", **figures(milliseconds(passes)))
    if not options.whole:
        return
    optimizer = Optimizer(trained)

    def update():
        for pack in packs:
            forward_backward(policy, pack)
            optimizer.accumulate()
        optimizer.step()

    torch.cuda.reset_peak_memory_stats()
    report(what="whole update", **figures(milliseconds(update)))


# ---- The published trainer, written plainly.
class LiteralLayer(nn.Module):
    def __init__(self):
        super().__init__()
        linear = lambda inner, out: nn.Linear(inner, out, bias=False)
        self.q, self.k, self.v = (linear(HIDDEN, n * HEAD_DIM) for n in (HEADS, KV_HEADS, KV_HEADS))
        self.out = linear(HEADS * HEAD_DIM, HIDDEN)
        self.gate, self.up, self.down = linear(HIDDEN, INNER), linear(HIDDEN, INNER), linear(INNER, HIDDEN)
        self.weights = nn.ParameterList([nn.Parameter(torch.ones(n)) for n in (HIDDEN, HIDDEN, HEAD_DIM, HEAD_DIM)])

    @staticmethod
    def norm(x, weight):
        wide = x.float()
        return weight * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + EPS)).to(x.dtype)

    def forward(self, x, cos, sin, mask):
        batch, length, _ = x.shape
        normed = self.norm(x, self.weights[0])
        q, k, v = (f(normed).view(batch, length, -1, HEAD_DIM) for f in (self.q, self.k, self.v))
        turn = lambda t: t * cos[:, None] + torch.cat((-t.chunk(2, -1)[1], t.chunk(2, -1)[0]), -1) * sin[:, None]
        q, k = turn(self.norm(q, self.weights[2])), turn(self.norm(k, self.weights[3]))
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))
        k, v = (t.repeat_interleave(HEADS // KV_HEADS, 1) for t in (k, v))
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).reshape(batch, length, -1)
        x = x + self.out(mixed)
        normed = self.norm(x, self.weights[1])
        return x + self.down(F.silu(self.gate(normed)) * self.up(normed))


def run_literal():
    torch.manual_seed(0)
    with torch.device(DEVICE):
        embedding = nn.Embedding(VOCAB, HIDDEN).bfloat16()
        head = nn.Linear(HIDDEN, VOCAB, bias=False).bfloat16()
        layers = nn.ModuleList([LiteralLayer() for _ in range(LAYERS)]).bfloat16()
    for p in (embedding.weight, head.weight, *layers.parameters()):
        if p.dim() == 2:
            nn.init.normal_(p, 0, 0.02)
    length = options.prompt + 2 * options.response
    position = torch.cat((torch.arange(options.prompt + options.response), options.prompt + torch.arange(options.response))).to(DEVICE)
    block, is_noisy = position // BLOCK, torch.arange(length, device=DEVICE) >= options.prompt + options.response
    before = torch.where(is_noisy[:, None], block[None] < block[:, None], block[None] <= block[:, None]) & ~is_noisy[None]
    mask = (before | (is_noisy[:, None] & is_noisy[None] & (block[None] == block[:, None])))[None, None]
    inverse = THETA ** (-torch.arange(0, HEAD_DIM, 2, device=DEVICE) / HEAD_DIM)
    angles = position[:, None] * inverse[None]
    cos, sin = (torch.cat((f(angles),) * 2, -1).bfloat16() for f in (torch.cos, torch.sin))
    tokens = torch.randint(0, VOCAB - 300, (1, length), device=DEVICE)
    labels = torch.randint(0, VOCAB - 300, (1, options.response), device=DEVICE)
    scored = (torch.arange(options.response, device=DEVICE) % BLOCK < 2).float()

    def response():
        for _ in range(options.rounds):
            x = embedding(tokens)
            for layer in layers:
                x = torch.utils.checkpoint.checkpoint(layer, x, cos, sin, mask, use_reentrant=False)
            logits = head(x[:, -options.response :]).float()
            log_probs = F.log_softmax(logits, -1).gather(-1, labels[..., None])[..., 0]
            (-(log_probs * scored).sum() * 1e-4).backward()
        for p in (embedding.weight, head.weight, *layers.parameters()):
            p.grad = None

    torch.cuda.reset_peak_memory_stats()
    ms = milliseconds(response)
    report(peer="literal", layers=LAYERS, ms_per_response=ms, peak_gib=torch.cuda.max_memory_allocated() / 2**30)


torch.set_float32_matmul_precision("high")
if __name__ == "__main__":
    run_literal() if options.literal else run_peer()
