"""The parts of bench/many_gpus/run.py: what each of them runs, how long that may take, and how its figures are read."""
import json
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PYTHON = sys.executable
# Steps of a tiny policy on a CPU, also those of tests/e2e/test_bench_of_whole_steps.py.
TINY = ["policy.device=cpu", "policy.dtype=float32", "tasks.prompt_style=compact", "rollout.max_new_tokens=64", "bench.median_tokens=24",
        "run.threads_per_rank=1", "rollout.max_active=16", "verifier.server.limits.compile_s=300", "verifier.server.limits.record_s=300",
        "verifier.server.oracle.cpu_s=300"]
CPU_LIMIT_S = 900
# A bench of whole steps ends its run by itself, before its part's limit.
ENDING_S = 40


class Part:
    """One thing that is run: what it is expected to take on four H100, its limit, its command, and how its output is read. `needs` names
    parts whose result it uses, `uses` folders that may go once all parts that use them are done, `makes` what an earlier attempt may have
    left half-made."""

    def __init__(self, name, expected_s, limit_s, command, read, needs=(), uses=(), makes=None, environment=None):
        self.name, self.expected_s, self.limit_s = name, expected_s, limit_s
        self.command, self.read = [str(word) for word in command], read
        self.needs, self.uses, self.environment = needs, uses, environment or {}
        self.makes = makes or (f"{name}.d*",)


# ---- What the programs print.

def read_nothing(text, out):
    return {}


def read_update(text, out):
    found = re.search(r"stage (\d), recompute (\w+): (\d+) rows a rank.*?; ([\d.]+) ms an update \(.*?, (\d+) rows/s of all ranks, MFU ([\d.]+) %, "
                      r"([\d.]+) GiB, rank 0 waited ([\d.]+) ms", text)
    names = ("stage", "recompute", "rows_a_rank", "ms", "rows_per_s", "mfu_percent", "peak_gib", "waited_ms")
    if not found:
        return None
    figures = {name: value if name == "recompute" else float(value) for name, value in zip(names, found.groups())}
    # What an update's transfers take with nothing beside them.
    return figures | {"transfers_alone_ms": sum(map(float, re.findall(r"; alone ([\d.]+) ms", text)))}


def read_fsdp(text, out):
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    return {**lines[-1], "mfu_percent": 100 * lines[-1]["mfu"]} if lines else None


def read_switches(text, out):
    """Of the latest report: there is one every 20 switches."""
    heads = re.findall(r"(\d+) switches, peak of tensors ([\d.]+) GiB, (\d+) allocations", text)
    phases = {name: {"leaked_bytes": int(leaked), "most_kept_gib": float(kept), "most_split_gib": float(split), "ms": float(ms)}
              for name, leaked, kept, split, ms in re.findall(
                  r"after (\w+): ([+-]\d+) bytes of tensors.*?kept at most ([\d.]+) GiB.*?given back at most ([\d.]+) GiB.*?; (\d+) ms", text)}
    if not heads or not phases:
        return None
    switches, peak_gib, retries = heads[-1]
    return {"switches": int(switches), "peak_gib": float(peak_gib), "retries": int(retries), **phases}


def read_report(name):
    """What bench/many_gpus/whole_step.py writes as its steps come."""
    def read(text, out):
        file = out.parent / name
        return json.loads(file.read_text()) if file.exists() else None
    return read


# ---- The parts, in their order.

class Commands:
    """The command lines, with sizes for the device."""

    def __init__(self, options):
        self.options, self.on_cpu = options, options.device == "cpu"
        shapes = ("configs/quickstart/policy.json",) * 2 if self.on_cpu else ("configs/shapes/sdar-1.7b.json", "configs/shapes/sdar-8b.json")
        self.small, self.large = shapes

    def limit(self, limit_s):
        return CPU_LIMIT_S if self.on_cpu else limit_s

    def mpirun(self, ranks):
        return ["mpirun", "-np", ranks, "--bind-to", "none", "--oversubscribe"]

    def rows(self, repeats):
        small = ["--groups", 2, "--samples", 2, "--prompt", 32, "--response", 32, "--repeats", 2]
        return small if self.on_cpu else ["--groups", 4, "--repeats", repeats]

    def update(self, ranks, shape, stage, *words, repeats=5):
        device = ["--device", "cpu", "--tokens-per-pack", 152] if self.on_cpu else ["--tokens-per-pack", 17000]
        return [*self.mpirun(ranks), self.options.build / "bin" / "bench_rank_update", shape, *self.rows(repeats), "--stage", stage, *device, *words]

    def fsdp(self):
        # --standalone alone looks up the host's name, which need not lead anywhere.
        return [PYTHON, "-m", "torch.distributed.run", "--standalone", "--local-addr", "127.0.0.1", "--nproc-per-node", self.options.gpus,
                HERE / "fsdp_peer.py", self.small, "--stage", 2, *self.rows(5), "--packs", 2 if self.on_cpu else 4]

    def init(self, shape, folder):
        return [self.options.build / "bin" / "bicrl", "init", shape, self.options.out / folder, "--tokenizer", self.options.tokenizer,
                "--dtype", "float32" if self.on_cpu else "bfloat16"]

    def whole(self, config, weights, folder, limit_s, *words):
        tasks, samples = (3, 4) if self.on_cpu else (64, 8)
        data = self.options.data or self.options.out / "data"
        return [PYTHON, HERE / "whole_step.py", config, self.options.out / weights, data, self.options.out / folder, "--ranks", self.options.gpus,
                "--tasks", tasks, "--samples", samples, "--binary", self.options.build / "bin" / "bicrl",
                "--patience", self.limit(limit_s) - ENDING_S, *words, *(TINY if self.on_cpu else [])]

    def switches(self):
        small = ["--switches", 20, "--sequences", 8, "--samples", 2, "--prompt", 32, "--response", 32, "--tokens-per-pack", 152, "--device", "cpu"]
        large = ["--switches", self.options.switches, "--response", 256, "--recompute", "full", "--cache-tokens", 180000]
        return [*self.mpirun(self.options.gpus), self.options.build / "bin" / "bench_memory_switch", self.large, "--stage", 2,
                *(small if self.on_cpu else large)]


def parts_of(options):
    of = Commands(options)
    gpus = options.gpus
    dice = ("configs/dice-1.7b.yaml", "weights.d")
    # Checkpoints as often as they can be written, so that a run that is killed has one.
    killed = ("--stages", "dynamic:2", "run.checkpoint_every_s=1")
    # None within a stage: of 8B one has 115 GB.
    unsaved = ("run.checkpoint_every_s=0", "run.checkpoint_in_background=false")
    auto = ("--stages", "dynamic:6", "--tasks", 3 if of.on_cpu else 32, "trainer.placement=auto", "trainer.max_staleness=1", *unsaved)
    return [
        Part("fsdp2", 100, of.limit(240), of.fsdp(), read_fsdp, environment={"OMP_NUM_THREADS": "1"} if of.on_cpu else {}),
        Part("one", 30, of.limit(90), of.update(1, of.small, 0), read_update),
        Part("stage1", 30, of.limit(90), of.update(gpus, of.small, 1), read_update),
        Part("stage2", 30, of.limit(90), of.update(gpus, of.small, 2), read_update),
        Part("weights", 30, of.limit(90), of.init(of.small, "weights.d"), read_nothing),
        Part("steps", 180, of.limit(380), of.whole(*dice, "steps.d", 380, "--kill-rank", gpus - 1, *killed), read_report("steps.d.json"),
             needs=("weights",), uses=("weights.d", "steps.d")),
        Part("resumed", 100, of.limit(200), of.whole(*dice, "steps.d", 200, "--resume", 1, *killed), read_report("steps.d.resumed.json"),
             needs=("steps",), uses=("weights.d", "steps.d"), makes=("steps.d.resumed.*",)),
        Part("weights_8b", 60, of.limit(120), of.init(of.large, "weights_8b.d"), read_nothing),
        Part("steps_8b", 180, of.limit(320), of.whole("configs/dice-8b.yaml", "weights_8b.d", "steps_8b.d", 320, "--stages", "dynamic:1", *unsaved),
             read_report("steps_8b.d.json"), needs=("weights_8b",), uses=("weights_8b.d", "steps_8b.d")),
        Part("stage2_8b", 65, of.limit(150), of.update(gpus, of.large, 2, "--recompute", "full", repeats=3), read_update),
        Part("stage3_8b", 65, of.limit(150), of.update(gpus, of.large, 3, "--recompute", "full", repeats=3), read_update),
        Part("switches", 250, of.limit(320), of.switches(), read_switches),
        Part("auto", 185, of.limit(320), of.whole(*dice, "auto.d", 320, *auto), read_report("auto.d.json"), needs=("weights",),
             uses=("weights.d", "auto.d")),
    ]
