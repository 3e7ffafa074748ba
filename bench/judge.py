"""Correct and incorrect variants of programs against the judge's allowances: bench/judge.md.

    .venv/bin/python bench/judge.py [part of a family's name...]

Variants are written in PyTorch, in the types and the order of sums that a kernel would use. A row holds the largest
error as a share of the allowance (1 is the limit) on the test inputs of each kind, then under the TF32 policy over all kinds,
then as a share of the published tolerance (1e-2 + 1e-2 |y|) on plain test inputs.
"""
import functools
import itertools
import math
import pathlib
import sys

import torch
import torch.nn.functional as F

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "sandbox" / "runtimes"))
from oracle_test_inputs import KINDS  # noqa: E402
from oracle_pool import Pool  # noqa: E402
from oracle_reference import Reference  # noqa: E402


# ---- Parts of kernels.

def sequential(x):
    """One thread a row."""
    total = torch.zeros(x.shape[:-1], dtype=x.dtype)
    for column in x.unbind(-1):
        total = total + column
    return total


def tiled(x, width=32):
    return sum(sequential(part) for part in x.split(width, -1))


def strided(x, threads=256):
    """Each thread sums every 256th element, then a tree."""
    x = F.pad(x, (0, -x.shape[-1] % threads)).reshape(*x.shape[:-1], -1, threads)
    total = sequential(x.movedim(-2, -1))
    while total.shape[-1] > 1:
        half = total.shape[-1] // 2
        total = total[..., :half] + total[..., half:]
    return total[..., 0]


def kahan(x):
    total = torch.zeros(x.shape[:-1], dtype=x.dtype)
    rest = torch.zeros_like(total)
    for column in x.unbind(-1):
        y = column - rest
        new = total + y
        rest, total = (new - total) - y, new
    return total


def product(a, b, tile=None):
    """Sums over k in order, or tile by tile."""
    step = tile or a.shape[1]
    return sum(functools.reduce(lambda s, k: s + a[:, k:k + 1] * b[k:k + 1], range(i, min(i + step, a.shape[1])),
                                torch.zeros(a.shape[0], b.shape[1])) for i in range(0, a.shape[1], step))


def fast_exp(x):
    return torch.exp2(x * 1.44269504) * (1 + (torch.rand_like(x) - 0.5) * 2**-21)


def softmax(x, exp=torch.exp, total=sequential):
    y = exp(x - x.amax(-1, keepdim=True))
    return y / total(y).unsqueeze(-1)


def layer_norm(x, gain, bias, eps=1e-5, total=sequential, passes=2):
    n = x.shape[-1]
    mean = total(x).unsqueeze(-1) / n
    squares = total((x - mean)**2) if passes == 2 else total(x * x) - n * mean[..., 0]**2
    return (x - mean) * torch.rsqrt(squares.unsqueeze(-1) / n + eps) * gain + bias


def channels(x):
    return x.view(1, -1, 1, 1)


def batch_norm(m, x, mean, variance):
    return (x - channels(mean)) * torch.rsqrt(channels(variance) + 1e-5) * channels(m.n.weight) + channels(m.n.bias)


def batch_norm_one_pass(m, x):
    rows = x.transpose(0, 1).reshape(x.shape[1], -1)
    n = rows.shape[1]
    mean = sequential(rows) / n
    return batch_norm(m, x, mean, sequential(rows * rows) / n - mean**2)


def tf32(x, round_to_nearest=True):
    return ((x.contiguous().view(torch.int32) + (0x1000 if round_to_nearest else 0)) & ~0x1fff).view(torch.float32)


def without_last(x, count):
    return x[..., :-count]


# ---- Families.

FAMILIES = []


def family(name, forward, inputs, correct, incorrect, init="pass"):
    args = ", ".join("xy"[:inputs.count("torch.r")])
    code = ("import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\nclass Model(nn.Module):\n"
            f"    def __init__(self):\n        super().__init__()\n        {init}\n"
            f"    def forward(self, {args}):\n        return {forward}\n"
            f"def get_inputs():\n    return [{inputs}]\ndef get_init_inputs():\n    return []\n")
    FAMILIES.append((name, code, correct, incorrect))


family("matmul 256x512x128", "x @ y", "torch.randn(256, 512), torch.randn(512, 128)", {
    "sequential": lambda m, x, y: product(x, y),
    "tiles of 32": lambda m, x, y: product(x, y, 32),
}, {
    "last k tile skipped": lambda m, x, y: x[:, :-32] @ y[:-32],
    "last k skipped": lambda m, x, y: x[:, :-1] @ y[:-1],
    "last row zero": lambda m, x, y: torch.cat([(x @ y)[:-1], torch.zeros(1, 128)]),
    "zero": lambda m, x, y: torch.zeros(256, 128),
    "products of fp16 (TF32 policy)": lambda m, x, y: x.half().float() @ y.half().float(),
    "TF32, nearest (TF32 policy)": lambda m, x, y: tf32(x) @ tf32(y),
    "TF32, truncated (TF32 policy)": lambda m, x, y: tf32(x, False) @ tf32(y, False),
})
family("matmul of uniform 256x2048x64", "x @ y", "torch.rand(256, 2048), torch.rand(2048, 64)", {
    "sequential": lambda m, x, y: product(x, y),
}, {
    "last k tile skipped": lambda m, x, y: x[:, :-32] @ y[:-32],
    "last k skipped": lambda m, x, y: x[:, :-1] @ y[:-1],
})
family("matmul of fp16", "x @ y", "torch.randn(128, 512).half(), torch.randn(512, 128).half()", {
    "fp32 sums": lambda m, x, y: product(x.float(), y.float()).half(),
}, {
    "last k tile skipped": lambda m, x, y: product(x[:, :-32].float(), y[:-32].float()).half(),
    "products rounded to fp16": lambda m, x, y: sum((x[:, k:k + 1] * y[k:k + 1]).float() for k in range(512)).half(),
    "zero": lambda m, x, y: torch.zeros(128, 128).half(),
})
family("linear + relu", "F.relu(self.l(x))", "torch.randn(64, 512)", {
    "sequential": lambda m, x: torch.relu(product(x, m.l.weight.t()) + m.l.bias),
}, {
    "no bias": lambda m, x: torch.relu(x @ m.l.weight.t()),
    "bias 1e-3 off": lambda m, x: torch.relu(x @ m.l.weight.t() + m.l.bias * 1.001),
    "no relu": lambda m, x: m.l(x),
    "last k skipped": lambda m, x: torch.relu(x[:, :-1] @ m.l.weight.t()[:-1] + m.l.bias),
}, "self.l = nn.Linear(512, 256)")
family("softmax", "torch.softmax(x, -1)", "torch.randn(128, 1000)", {
    "sequential": lambda m, x: softmax(x),
    "fast exp": lambda m, x: softmax(x, fast_exp),
    "strided": lambda m, x: softmax(x, total=strided),
    "without maximum": lambda m, x: torch.exp(x) / strided(torch.exp(x)).unsqueeze(-1),
    "maximum from zero": lambda m, x: (lambda y: y / y.sum(-1, keepdim=True))(
        torch.exp(x - x.amax(-1, keepdim=True).clamp_min(0))),
}, {
    "copy": lambda m, x: x,
    "1/n": lambda m, x: torch.full_like(x, 1 / 1000),
    "exp alone": lambda m, x: torch.exp(x - x.amax(-1, keepdim=True)),
    "last tile not summed": lambda m, x: torch.exp(x) / torch.exp(without_last(x, 32)).sum(-1, keepdim=True),
    "zero": lambda m, x: x * 0,
})
family("log_softmax", "F.log_softmax(x, -1)", "torch.randn(128, 512)", {
    "sequential": lambda m, x: x - x.amax(-1, keepdim=True) - sequential(torch.exp(x - x.amax(-1, keepdim=True))).log().unsqueeze(-1),
    "without maximum": lambda m, x: x - sequential(torch.exp(x)).log().unsqueeze(-1),
}, {
    "last element not summed": lambda m, x: x - without_last(x, 1).logsumexp(-1, keepdim=True),
    "constant": lambda m, x: x - math.log(512),
})
family("layer_norm", "self.n(x)", "torch.randn(64, 768)", {
    "two passes": lambda m, x: layer_norm(x, m.n.weight, m.n.bias),
    "strided": lambda m, x: layer_norm(x, m.n.weight, m.n.bias, total=strided),
    "Kahan": lambda m, x: layer_norm(x, m.n.weight, m.n.bias, total=kahan),
    "one pass": lambda m, x: layer_norm(x, m.n.weight, m.n.bias, passes=1),
}, {
    "copy": lambda m, x: x,
    "default gain and bias": lambda m, x: layer_norm(x, 1, 0),
    "divides by n - 1": lambda m, x: (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True) * m.n.weight + m.n.bias,
    "eps 1e-3": lambda m, x: layer_norm(x, m.n.weight, m.n.bias, eps=1e-3),
    "mean not subtracted": lambda m, x: x * torch.rsqrt(x.var(-1, keepdim=True) + 1e-5) * m.n.weight + m.n.bias,
}, "self.n = nn.LayerNorm(768)")
family("batch_norm in training", "self.n(x)", "torch.randn(32, 16, 20, 20)", {
    "two passes": lambda m, x: batch_norm(m, x, x.mean((0, 2, 3)), (x - channels(x.mean((0, 2, 3)))).square().mean((0, 2, 3))),
    "one pass, sequential": batch_norm_one_pass,
}, {
    "running statistics": lambda m, x: batch_norm(m, x, m.n.running_mean, m.n.running_var),
    "default statistics": lambda m, x: batch_norm(m, x, torch.zeros(16), torch.ones(16)),
    "copy": lambda m, x: x,
}, "self.n = nn.BatchNorm2d(16)")
family("sum of 65536", "x.sum(-1)", "torch.randn(32, 65536)", {
    "sequential": lambda m, x: sequential(x),
    "tiles of 1024": lambda m, x: tiled(x, 1024),
    "strided": lambda m, x: strided(x),
}, {
    "last tile skipped": lambda m, x: without_last(x, 32).sum(-1),
    "last element skipped": lambda m, x: without_last(x, 1).sum(-1),
    "zero": lambda m, x: torch.zeros(32),
})
family("mean of 16384 uniform", "x.mean(-1)", "torch.rand(32, 16384)", {
    "sequential": lambda m, x: sequential(x) / 16384,
    "strided": lambda m, x: strided(x) / 16384,
}, {
    "last tile skipped": lambda m, x: without_last(x, 32).sum(-1) / 16384,
    "over fewer": lambda m, x: without_last(x, 1024).mean(-1),
    "every other": lambda m, x: x[:, ::2].mean(-1),
    "1/2": lambda m, x: torch.full((32,), 0.5),
})
family("cumsum of 4096", "x.cumsum(-1)", "torch.randn(32, 4096)", {
    "sequential": lambda m, x: torch.stack(list(itertools.accumulate(x.unbind(-1))), -1),
    "blocks": lambda m, x: (lambda b: b.cumsum(-1) + F.pad(b.sum(-1).cumsum(-1), (1, 0))[:, :-1, None])(
        x.reshape(32, 64, 64)),
}, {
    "exclusive": lambda m, x: x.cumsum(-1) - x,
    "per tile": lambda m, x: x.reshape(32, 16, 256).cumsum(-1),
    "copy": lambda m, x: x,
})
family("argmax", "x.argmax(-1)", "torch.randn(256, 1000)", {
    "first of equals": lambda m, x: (x == x.amax(-1, keepdim=True)).int().argmax(-1),
}, {
    "last of equals": lambda m, x: 999 - x.flip(-1).argmax(-1),
    "last tile not looked at": lambda m, x: without_last(x, 32).argmax(-1),
    "one off": lambda m, x: x.argmax(-1) + 1,
})
family("max_pool2d", "F.max_pool2d(x, 3, 2, 1)", "torch.randn(8, 8, 33, 33)", {
    "unfolded": lambda m, x: F.unfold(F.pad(x.reshape(64, 1, 33, 33), (1, 1, 1, 1), value=-1e30), 3,
                                      stride=2).amax(1),
}, {
    "pads with zero": lambda m, x: F.max_pool2d(F.pad(x, (1, 1, 1, 1)), 3, 2),
    "last column from its neighbour": lambda m, x: (lambda y: torch.cat([y[..., :-1], y[..., -2:-1]], -1))(
        F.max_pool2d(x, 3, 2, 1)),
})
family("sigmoid twice", "torch.sigmoid(torch.sigmoid(self.l(x)))", "torch.randn(16, 1024)", {
    "sequential": lambda m, x: torch.sigmoid(torch.sigmoid(product(x, m.l.weight.t()) + m.l.bias)),
    "fast exp": lambda m, x: 1 / (1 + fast_exp(-1 / (1 + fast_exp(-m.l(x))))),
}, {
    "mean": lambda m, x: torch.full((16, 64), 0.6225),
    "one sigmoid": lambda m, x: torch.sigmoid(m.l(x)),
    "no bias": lambda m, x: torch.sigmoid(torch.sigmoid(x @ m.l.weight.t())),
}, "self.l = nn.Linear(1024, 64)")
family("sigmoid(x + 6)", "torch.sigmoid(x + 6)", "torch.randn(64, 256)", {
    "fast exp": lambda m, x: 1 / (1 + fast_exp(-(x + 6))),
}, {
    "1": lambda m, x: torch.ones_like(x),
    "1 - exp": lambda m, x: 1 - torch.exp(-(x + 6)),
})
family("cross_entropy", "F.cross_entropy(x, y)", "torch.randn(512, 100), torch.randint(0, 100, (512,))", {
    "sequential": lambda m, x, y: sequential(sequential(torch.exp(x - x.amax(1, True))).log() + x.amax(1)
                                             - x.gather(1, y[:, None])[:, 0]) / 512,
    "any order": lambda m, x, y: F.cross_entropy(x, y, reduction="none")[torch.randperm(512)].cumsum(0)[-1] / 512,
    "without maximum": lambda m, x, y: sequential(sequential(torch.exp(x)).log() - x.gather(1, y[:, None])[:, 0]) / 512,
}, {
    "log(100)": lambda m, x, y: torch.tensor(math.log(100)),
    "last row skipped": lambda m, x, y: F.cross_entropy(x[:-1], y[:-1], reduction="sum") / 512,
})
family("adaptive_avg_pool2d, 7 of 30", "F.adaptive_avg_pool2d(x, 7)", "torch.randn(4, 16, 30, 30)", {
    "fp64": lambda m, x: F.adaptive_avg_pool2d(x.double(), 7).float(),
}, {
    "fixed bins": lambda m, x: F.avg_pool2d(x[..., :28, :28], 4),
})
family("gelu", "F.gelu(x)", "torch.randn(64, 512)", {
    "erf": lambda m, x: 0.5 * x * (1 + torch.erf(x * 0.70710678)),
}, {
    "tanh form": lambda m, x: F.gelu(x, approximate="tanh"),
    "x sigmoid(1.702 x)": lambda m, x: x * torch.sigmoid(1.702 * x),
})
family("mse_loss", "F.mse_loss(x, y)", "torch.randn(256, 1024), torch.randn(256, 1024)", {
    "rows, then sequential": lambda m, x, y: sequential(strided((x - y)**2)) / (256 * 1024),
    "strided": lambda m, x, y: strided(((x - y)**2).reshape(-1)) / (256 * 1024),
}, {
    "2": lambda m, x, y: torch.tensor(2.0),
    "last row skipped": lambda m, x, y: ((x - y)**2)[:-1].sum() / (256 * 1024),
    "last tile skipped": lambda m, x, y: ((x - y)**2).reshape(-1)[:-256].sum() / (256 * 1024),
})
family("conv1d", "self.c(x)", "torch.randn(8, 16, 200)", {
    "unfolded, sequential": lambda m, x: (product(m.c.weight.reshape(32, -1), F.unfold(
        x[:, :, None], (1, 5), padding=(0, 2)).transpose(0, 1).reshape(80, -1)) + m.c.bias[:, None]).reshape(
            32, 8, 200).transpose(0, 1),
}, {
    "end not padded": lambda m, x: F.pad(m.c(x)[..., :-2], (0, 2)),
    "no bias": lambda m, x: m.c(x) - m.c.bias[:, None],
    "last channel skipped": lambda m, x: F.conv1d(x[:, :-1], m.c.weight[:, :-1], m.c.bias, padding=2),
}, "self.c = nn.Conv1d(16, 32, 5, padding=2)")
family("normalize", "F.normalize(x, dim=-1)", "torch.randn(128, 300)", {
    "norm": lambda m, x: x / sequential(x * x).sqrt().clamp_min(1e-12).unsqueeze(-1),
}, {
    "zero rows divided by zero": lambda m, x: x * torch.rsqrt(sequential(x * x)).unsqueeze(-1),
    "1e-6 under the root": lambda m, x: x * torch.rsqrt(sequential(x * x) + 1e-6).unsqueeze(-1),
    "copy, scaled": lambda m, x: x / math.sqrt(300),
    "last element not counted": lambda m, x: x / without_last(x, 1).norm(dim=-1, keepdim=True),
})
family("variance of 4096", "x.var(-1)", "torch.randn(64, 4096)", {
    "two passes": lambda m, x: sequential((x - x.mean(-1, keepdim=True))**2) / 4095,
    "one pass": lambda m, x: (sequential(x * x) - sequential(x)**2 / 4096) / 4095,
}, {
    "divides by n": lambda m, x: x.var(-1, unbiased=False),
    "last element skipped": lambda m, x: without_last(x, 1).var(-1),
    "1": lambda m, x: torch.ones(64),
})
family("tanh", "torch.tanh(x)", "torch.randn(256, 256)", {
    "exp form": lambda m, x: 1 - 2 / (1 + fast_exp(2 * x)),
    "quotient of exponentials": lambda m, x: (torch.exp(2 * x) - 1) / (torch.exp(2 * x) + 1),
}, {
    "tanh.approx (TF32 policy)": lambda m, x: torch.tanh(x) * (1 + (torch.rand_like(x) - 0.5) * 2**-10),
    "clamp": lambda m, x: x.clamp(-1, 1),
    "Padé": lambda m, x: (x * (27 + x * x) / (27 + 9 * x * x)).clamp(-1, 1),
})
family("floor(3x)", "torch.floor(x * 3)", "torch.randn(256, 256)", {
    "by division": lambda m, x: torch.floor(x / (1 / 3)),
}, {
    "round": lambda m, x: torch.round(x * 3),
    "trunc": lambda m, x: torch.trunc(x * 3),
})
family("topk", "torch.topk(x, 5, -1)[0]", "torch.randn(64, 200)", {
    "sorted": lambda m, x: x.sort(-1, descending=True)[0][:, :5],
}, {
    "last tile not looked at": lambda m, x: without_last(x, 8).topk(5, -1)[0],
})
family("cosine_similarity", "F.cosine_similarity(x, y, -1)", "torch.randn(64, 512), torch.randn(64, 512)", {
    "sequential": lambda m, x, y: sequential(x * y) / (sequential(x * x).sqrt().clamp_min(1e-8)
                                                       * sequential(y * y).sqrt().clamp_min(1e-8)),
}, {
    "zero rows divided by zero": lambda m, x, y: sequential(x * y) / (sequential(x * x).sqrt() * sequential(y * y).sqrt()),
    "0": lambda m, x, y: torch.zeros(64),
    "last element skipped": lambda m, x, y: F.cosine_similarity(without_last(x, 1), without_last(y, 1), -1),
})


# ---- Judging.

def share(answer, test_input, allowed):
    """Largest error as a share of `allowed`; 1e9 if an integer differs where it may not."""
    own, exact = test_input.own[0], test_input.exact[0]
    answer = answer.reshape(own.shape)
    if not own.is_floating_point():
        return 1e9 * float(((answer != own) & ~test_input.allowed[0]).any())
    error = (answer.double() - exact).abs()
    return float(torch.where(error == 0, 0.0, error / allowed.double()).nan_to_num(1e9, 1e9).max())


def judged(code):
    """Test inputs of each kind, and the model."""
    reference = Reference(code, init_seed=1234)
    reference.find_arguments()
    reference.build()
    pool = Pool(reference, {"secret": code, "tf32": True, "least_inputs": 8, "most_inputs": 8, "pool_bytes": 1 << 30,
                            "max_output_bytes": 1 << 28, "most_lane_operations": 1 << 40})
    pool.first_look()
    return reference.model, [pool.kind(kind) for kind in KINDS]


def text(value):
    return f"{value:.2g}" if value < 1e4 else "> 1e4"


def main():
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    torch.manual_seed(0)
    unexpected = 0
    print("| family | variant | " + " | ".join(KINDS) + " | TF32 | published, plain |\n|" + "---|" * (len(KINDS) + 4))
    for name, code, correct, incorrect in FAMILIES:
        if sys.argv[1:] and not any(part in name for part in sys.argv[1:]):
            continue
        model, kinds = judged(code)
        for variants, expected in ((correct, True), (incorrect, False)):
            for variant, compute in variants.items():
                answers = [[(compute(model, *test_input.leaves), test_input) for test_input in kind.kept] for kind in kinds]
                by_kind = [max(share(y, d, d.allowed[0]) for y, d in pairs) for pairs in answers]
                loose = max(share(y, d, d.allowed_tf32[0]) for pairs in answers for y, d in pairs)
                published = max(share(y, d, 1e-2 + 1e-2 * d.exact[0].abs()) for y, d in answers[0])
                passed = max(by_kind) <= 1
                unexpected += passed != expected or ("TF32 policy" in variant and loose > 1)
                figures = [text(x) for x in (*by_kind, loose, published)]
                print(f"| {name} | {'correct' if expected else 'incorrect'}: {variant} | " + " | ".join(figures) + " |", flush=True)
    print(f"\n{unexpected} variants judged otherwise than they are called")
    return unexpected > 0


if __name__ == "__main__":
    sys.exit(main())
