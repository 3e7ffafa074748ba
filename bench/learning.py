"""What reinforcement teaches that imitation does not: modes that go on from one warm-up, seed by seed, and what they reach.

    python3 bench/learning.py --program build/cpu/bin/bicrl --out build/learning --seeds 1-5 --split test [--modes rl,best]
        [--workers 2] [--ranks 2] [--at-once 1] [key.path=value ...]

It starts one verifier that all modes share, so that no program is verified twice, and goes on where it was stopped: what has
finished is not run again. Further words are overrides for every run. bench/learning_report.py makes tables of the folder.
Modes make as many updates as the stages of configs/quickstart.yaml (with their imitation; they make one a step otherwise), and ask for as many verdicts where they ask for any:
    rl            the stages as they are
    best          supervised, on the best known program of each training task, from the stages' highest rate down to their lowest
    rejection     the same stages, each group's best response imitated
    shuffled      the same stages with advantages dealt out at random
    no_infilling  as many steps, all end to end
    draws, exact  the same stages, updates by that objective
    stale_N       the same stages, each step sampled N steps ahead (0 to 8): on two ranks, one of which generates
    kept          the same stages, groups without variance in the update for the KL penalty
    scaled        the same stages, each step's rate times its share of groups with variance
    kept_scaled   both
    slow          the same stages at 0.76 of their rates: a control for `scaled`, whose mean rate is 0.6 to 0.8
    twice         the same stages, each response trained twice and twice as many imitated batches
    few_tasks     the same stages, half of the tasks in each end-to-end step, and so half of the verdicts
    half_MODE     any of these with half of the end-to-end steps, and so of the verdicts
The warm-up itself is also asked 8 times about the first of them (best of 8)."""
import argparse
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from verifier_process import running_verifier

SOURCE = Path(__file__).resolve().parents[1]
CONFIG = SOURCE / "configs/quickstart.yaml"
MODES = ("rl", "best", "rejection", "shuffled", "no_infilling")
SLOW = 0.76
STALENESS = re.compile(r"stale_(\d+)")


class Stages:
    """What the configuration with the overrides says of the stages, of which the first is the infilling one."""

    def __init__(self, program, overrides):
        text = subprocess.run([program, "train", CONFIG, "--dry-run", "run.directory=/nonexistent/run", *overrides], capture_output=True, text=True, cwd=SOURCE).stdout
        value_of = lambda key: re.findall(rf"^ +(?:- )?{key}: (\S+)$", text, re.M)
        self.count = len(value_of("stage"))
        self.steps = [int(n) for n in value_of("steps")[-self.count:]]
        self.tasks = int(value_of("tasks_per_step")[0])
        self.responses = self.tasks * int(value_of("samples_per_task")[0])
        imitation = [int(n) for n in value_of("updates")[-self.count:]]
        self.imitated = {i: updates for i, updates in enumerate(imitation) if updates > 0}
        self.updates = sum(steps * (1 + updates) for steps, updates in zip(self.steps, imitation))
        self.rates = value_of("learning_rate")[-self.count:]
        self.lowest_rate = value_of("min_learning_rate")[-1]

    def each(self, word):
        return [f"stages.{i}.{word}" for i in range(self.count)]


# Without steps rather than without stages: those say that evaluations need times.
def overrides_of(mode, warm_up, stages):
    source = [f"policy.checkpoint={warm_up}/checkpoints/warm_up", "policy.config="]
    if mode.startswith("half_"):
        return [*overrides_of(mode.removeprefix("half_"), warm_up, stages), *(f"stages.{i}.steps={stages.steps[i] // 2}" for i in range(1, stages.count))]
    if mode == "best":
        return [*source, *stages.each("steps=0"), f"warm_up.steps={stages.updates}", "warm_up.programs=best", f"warm_up.samples_per_step={stages.responses}",
                "warm_up.update.warmup_updates=0", f"warm_up.update.learning_rate={max(stages.rates, key=float)}", "warm_up.update.learning_rate_decay=cosine",
                f"warm_up.update.min_learning_rate={stages.lowest_rate}"]
    kept = [*source, "warm_up.steps=0", "evaluation.phases=last"]
    if mode == "rejection":
        return [*kept, *stages.each("advantage=best")]
    if mode == "shuffled":
        return [*kept, *stages.each("shuffled_advantages=true")]
    if mode == "no_infilling":
        return [*kept, "stages.0.steps=0", f"stages.1.steps={stages.steps[0] + stages.steps[1]}"]
    if mode in ("kept", "scaled", "kept_scaled"):
        return [*kept, *(stages.each("zero_variance=keep") if "kept" in mode else []), *(stages.each("update.step_scale=informative") if "scaled" in mode else [])]
    if mode == "slow":
        return [*kept, *(f"stages.{i}.update.learning_rate={SLOW * float(rate):g}" for i, rate in enumerate(stages.rates)),
                f"stages.{stages.count - 1}.update.min_learning_rate={SLOW * float(stages.lowest_rate):g}"]
    if mode == "few_tasks":
        return [*kept, *(f"stages.{i}.tasks_per_step={stages.tasks // 2}" for i in range(1, stages.count))]
    if mode == "twice":
        return [*kept, *stages.each("update.epochs=2"), *(f"stages.{i}.imitation.updates={2 * updates}" for i, updates in stages.imitated.items())]
    if mode in ("draws", "exact"):
        return [*kept, *stages.each(f"update.objective={mode}")]
    if stale := STALENESS.fullmatch(mode):
        return [*kept, "trainer.placement=split", f"trainer.max_staleness={stale[1]}", *stages.each("update.dual_clip=3")]
    if mode != "rl":
        sys.exit(f"there is no mode '{mode}'")
    return kept


class Bench:
    def __init__(self, options, address):
        self.options, self.address = options, address
        self.environment = dict(os.environ, OMP_NUM_THREADS="1", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        self.stages = Stages(options.program, options.overrides)

    def train(self, folder, words, ranks=None):
        state = folder / "run.json"
        if state.exists() and '"finished":true' in state.read_text():
            return
        folder.parent.mkdir(parents=True, exist_ok=True)
        o = self.options
        ranks = ranks or o.ranks
        launcher = ["mpirun", "-np", str(ranks), *os.environ.get("BICRL_MPIRUN_FLAGS", "--bind-to none --oversubscribe").split()] if ranks > 1 else []
        command = [*launcher, o.program, "train", str(CONFIG), f"run.directory={folder}", f"verifier.addresses=[{self.address}]",
                   f"evaluation.split={o.split}", f"evaluation.tasks={o.tasks}", *sizes_of_splits(o), *o.overrides, *words]
        begin = time.monotonic()
        with open(folder.with_suffix(".log"), "w") as log:
            code = subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, cwd=SOURCE, env=self.environment).returncode
        print(f"{folder.parent.name} {folder.name}: {'ends' if code == 0 else f'fails with {code}'} after {time.monotonic() - begin:.0f} s", flush=True)

    def warm_up(self, seed):
        folder = Path(self.options.out).resolve() / f"seed-{seed}" / "warm_up"
        self.train(folder, [f"run.seed={seed}", f"tasks.synthetic.seed={seed}", *self.stages.each("steps=0"),
                            f"evaluation.best_of={{tasks: {self.options.best_of}, samples: 8}}" if self.options.best_of else "evaluation.best_of={}"])
        return folder

    def train_mode(self, seed, mode):
        folder = Path(self.options.out).resolve() / f"seed-{seed}"
        if not (folder / "warm_up/checkpoints/warm_up").exists():
            return
        self.train(folder / mode, [f"run.seed={seed}", f"tasks.synthetic.seed={seed}", "evaluation.best_of={}", *overrides_of(mode, folder / "warm_up", self.stages)],
                   max(2, self.options.ranks) if STALENESS.fullmatch(mode) else None)


def sizes_of_splits(options):
    """Which task is which depends on all of them."""
    return [f"tasks.synthetic.{split}_compositions={max(options.tasks, 1)}" for split in ("development", "test")]


def write_tasks(options, seed):
    """The held-out tasks with every program that is shown for their operators: the report asks what they cost."""
    folder = Path(options.out).resolve() / f"seed-{seed}"
    if (folder / "tasks").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    words = [*sizes_of_splits(options), *options.overrides, f"tasks.synthetic.seed={seed}", "tasks.synthetic.alternatives=1000"]
    subprocess.run([options.program, "tasks", str(CONFIG), "--write", folder / "tasks.new", *words], check=True, stdout=subprocess.DEVNULL, cwd=SOURCE)
    (folder / "tasks.new" / f"{options.split}.json").rename(folder / "tasks.new/held_out.json")
    (folder / "tasks.new").rename(folder / "tasks")


def run(options):
    for seed in options.seeds:
        write_tasks(options, seed)
    with running_verifier(options.program, f"workers={options.workers}", "cost_device=l4") as address:
        bench = Bench(options, address)
        with ThreadPoolExecutor(options.at_once) as pool:
            list(pool.map(bench.warm_up, options.seeds))
            list(pool.map(lambda pair: bench.train_mode(*pair), [(s, m) for m in options.modes for s in options.seeds]))


def numbers(text):
    first, _, last = text.partition("-")
    return list(range(int(first), int(last or first) + 1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, type=lambda p: str(Path(p).resolve()))
    parser.add_argument("--out", required=True)
    parser.add_argument("--seeds", type=numbers, default=numbers("11-15"))
    parser.add_argument("--split", choices=("development", "test"), default="development")
    parser.add_argument("--modes", type=lambda t: t.split(","), default=list(MODES))
    parser.add_argument("--tasks", type=int, default=512)
    parser.add_argument("--best-of", type=int, default=64)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--at-once", type=int, default=1)
    parser.add_argument("overrides", nargs="*")
    run(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
