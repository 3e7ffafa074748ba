"""What reinforcement teaches that imitation does not: arms that go on from one warm-up, seed by seed, and what they reach.

    python3 bench/learning.py run --program build/cpu/bin/bicrl --out build/learning --seeds 1-5 --split test [--arms rl,best]
        [--workers 2] [--ranks 2] [--at-once 1] [key.path=value ...]
    python3 bench/learning.py report --out build/learning [--reference rl]

`run` starts one verifier that all arms share, so that no program is verified twice, and goes on where it was stopped: what has
finished is not run again. Further words are overrides for every run. `report` needs no more than the runs' folders.
Arms make as many updates as the stages of configs/quickstart.yaml, and ask for as many verdicts where they ask for any:
    rl            the stages as they are
    best          supervised, on the best known program of each training task
    rejection     the same stages, each group's best response imitated
    shuffled      the same stages with advantages dealt out at random
    no_infilling  as many steps, all end to end
The warm-up itself is also asked 8 times about the first of them (best of 8)."""
import argparse
import json
import math
import os
import random
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1]
CONFIG = SOURCE / "configs/quickstart.yaml"
NO_STAGES = ("stages.0.steps=0", "stages.1.steps=0")  # an empty list would also leave out the times of evaluations
ARMS = ("rl", "best", "rejection", "shuffled", "no_infilling")
RESAMPLES = 2000


def lines_of(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


# ---- Runs.
def stages_of(program):
    """Steps of the infilling and of the end-to-end stage, and responses of a step, as the configuration says."""
    text = subprocess.run([program, "train", CONFIG, "--dry-run", "run.directory=/nonexistent/run"], capture_output=True, text=True, cwd=SOURCE).stdout
    steps = [int(n) for n in re.findall(r"^ +steps: (\d+)$", text, re.M)]
    tasks, samples = (int(re.findall(rf"^ +{key}: (\d+)$", text, re.M)[0]) for key in ("tasks_per_step", "samples_per_task"))
    return steps[-2:], tasks * samples


def overrides_of(arm, warm_up, stages, responses):
    infilling, end_to_end = stages
    source = [f"policy.checkpoint={warm_up}/checkpoints/warm_up", "policy.config="]
    if arm == "best":
        rate = ["learning_rate=2.0e-4", "learning_rate_decay=cosine", "min_learning_rate=3.0e-5", "warmup_updates=0"]
        return [*source, *NO_STAGES, f"warm_up.steps={infilling + end_to_end}", "warm_up.programs=best",
                f"warm_up.samples_per_step={responses}", *(f"warm_up.update.{word}" for word in rate)]
    kept = [*source, "warm_up.steps=0"]
    if arm == "rejection":
        return [*kept, "stages.0.advantage=best", "stages.1.advantage=best"]
    if arm == "shuffled":
        return [*kept, "stages.0.shuffled_advantages=true", "stages.1.shuffled_advantages=true"]
    if arm == "no_infilling":
        return [*kept, "stages.0.steps=0", f"stages.1.steps={infilling + end_to_end}"]
    return kept


class Bench:
    def __init__(self, options, address):
        self.options, self.address = options, address
        self.environment = dict(os.environ, OMP_NUM_THREADS="1", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        self.stages, self.responses = stages_of(options.program)

    def train(self, folder, words):
        state = folder / "run.json"
        if state.exists() and '"finished":true' in state.read_text():
            return
        folder.parent.mkdir(parents=True, exist_ok=True)
        o = self.options
        launcher = ["mpirun", "-np", str(o.ranks), *os.environ.get("BICRL_MPIRUN_FLAGS", "--bind-to none --oversubscribe").split()] if o.ranks > 1 else []
        command = [*launcher, o.program, "train", str(CONFIG), f"run.directory={folder}", f"verifier.addresses=[{self.address}]",
                   f"evaluation.split={o.split}", f"evaluation.tasks={o.tasks}", f"tasks.synthetic.test_compositions={max(o.tasks, 1)}",
                   f"tasks.synthetic.development_compositions={max(o.tasks, 1)}", *words, *o.overrides]
        begin = time.monotonic()
        with open(folder.with_suffix(".log"), "w") as log:
            code = subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, cwd=SOURCE, env=self.environment).returncode
        print(f"{folder.parent.name} {folder.name}: {'ends' if code == 0 else f'fails with {code}'} after {time.monotonic() - begin:.0f} s", flush=True)

    def warm_up(self, seed):
        folder = Path(self.options.out).resolve() / f"seed-{seed}" / "warm_up"
        self.train(folder, [f"run.seed={seed}", f"tasks.synthetic.seed={seed}", *NO_STAGES,
                            f"evaluation.best_of={{tasks: {self.options.best_of}, samples: 8}}" if self.options.best_of else "evaluation.best_of={}"])
        return folder

    def arm(self, seed, arm):
        folder = Path(self.options.out).resolve() / f"seed-{seed}"
        if not (folder / "warm_up/checkpoints/warm_up").exists():
            return
        self.train(folder / arm, [f"run.seed={seed}", f"tasks.synthetic.seed={seed}", "evaluation.best_of={}", *overrides_of(arm, folder / "warm_up", self.stages, self.responses)])


def run(options):
    verifier = subprocess.Popen([options.program, "verifier", "listen=127.0.0.1:0", f"workers={options.workers}", "cost_device=l4"],
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=SOURCE)
    address = next(match[0] for line in verifier.stdout if (match := re.search(r"127\.0\.0\.1:\d+", line)))
    drain = ThreadPoolExecutor(1)
    drain.submit(lambda: [None for _ in verifier.stdout])
    try:
        bench = Bench(options, address)
        with ThreadPoolExecutor(options.at_once) as pool:
            list(pool.map(bench.warm_up, options.seeds))
            list(pool.map(lambda pair: bench.arm(*pair), [(s, a) for a in options.arms for s in options.seeds]))
    finally:
        verifier.terminate()
        verifier.wait()


# ---- What they reach.
def answers(folder):
    """The greedy answers of a run's last evaluation, by task."""
    files = [folder / "evaluations" / f"{phase}.jsonl" for phase in ("end_to_end", "infilling", "warm_up")]
    return {r["task_id"]: r for r in lines_of(next(f for f in files if f.exists()))}


def speed(answer):
    return answer.get("speedup") or 0


class Arms:
    """Answers by arm, seed and task, of the seeds that every compared arm has."""

    def __init__(self, out):
        self.of = {}
        for folder in sorted(Path(out).glob("seed-*/*/")):
            if (folder / "summary.json").exists():
                self.of.setdefault(folder.name, {})[folder.parent.name] = answers(folder)

    def pairs(self, one, other):
        """[seed][task] -> (answer of one, answer of the other)"""
        seeds = sorted(self.of[one].keys() & self.of[other].keys())
        return [[(self.of[one][s][t], self.of[other][s][t]) for t in sorted(self.of[one][s].keys() & self.of[other][s].keys())] for s in seeds]


def bootstrap(seeds, statistic, draw=random.Random(1)):
    """Mean and 95 % interval of a statistic of pairs: seeds are drawn, and tasks within them."""
    values = []
    for _ in range(RESAMPLES):
        chosen = [seeds[draw.randrange(len(seeds))] for _ in seeds]
        values.append(statistic([[s[draw.randrange(len(s))] for _ in s] for s in chosen]))
    values = sorted(v for v in values if v is not None)
    middle = statistic(seeds)
    if middle is None or not values:
        return math.nan, math.nan, math.nan
    return middle, values[int(0.025 * len(values))], values[int(0.975 * len(values)) - 1]


def ratio_on_both(seeds):
    logs = [math.log(speed(a) / speed(b)) for s in seeds for a, b in s if speed(a) > 0 and speed(b) > 0]
    return math.exp(sum(logs) / len(logs)) if logs else None


def ratio_over_all(seeds):
    value = lambda answer: max(1.0, speed(answer))
    logs = [math.log(value(a) / value(b)) for s in seeds for a, b in s]
    return math.exp(sum(logs) / len(logs)) if logs else None


def correct_difference(seeds):
    all_pairs = [pair for s in seeds for pair in s]
    return sum(a["correct"] - b["correct"] for a, b in all_pairs) / len(all_pairs) if all_pairs else None


def report(options):
    arms = Arms(options.out)
    print("| arm | seeds | correct | geometric mean speed-up of the correct | fast_1 | fast_2 | new ways |\n|---|---|---|---|---|---|---|")
    for arm, seeds in arms.of.items():
        all_answers = [a for s in seeds.values() for a in s.values()]
        share = lambda test: 100 * sum(map(test, all_answers)) / len(all_answers)
        timed = [math.log(speed(a)) for a in all_answers if speed(a) > 0]
        mean = math.exp(sum(timed) / len(timed)) if timed else 0
        each = ", ".join(f"{100 * sum(a['correct'] for a in s.values()) / len(s):.1f}" for s in seeds.values())
        print(f"| {arm} | {len(seeds)} | {share(lambda a: a['correct']):.1f} % ({each}) | {mean:.2f} | {share(lambda a: speed(a) > 1):.1f} % | "
              f"{share(lambda a: speed(a) > 2):.1f} % | {share(lambda a: a.get('unshown', False)):.1f} % |")
    print(f"\n| {options.reference} against | speed-up, both right | over all tasks, wrong = 1, at least eager | correct |\n|---|---|---|---|")
    for arm in arms.of:
        if arm == options.reference or options.reference not in arms.of:
            continue
        pairs = arms.pairs(options.reference, arm)
        if not pairs:
            continue
        figures = [bootstrap(pairs, s) for s in (ratio_on_both, ratio_over_all, correct_difference)]
        both, over_all, correct = figures
        print(f"| {arm} | {both[0]:.2f} ({both[1]:.2f} to {both[2]:.2f}) | {over_all[0]:.2f} ({over_all[1]:.2f} to {over_all[2]:.2f}) | "
              f"{100 * correct[0]:+.1f} ({100 * correct[1]:+.1f} to {100 * correct[2]:+.1f}) |")


def numbers(text):
    first, _, last = text.partition("-")
    return list(range(int(first), int(last or first) + 1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    runs = commands.add_parser("run")
    runs.add_argument("--program", required=True, type=lambda p: str(Path(p).resolve()))
    runs.add_argument("--out", required=True)
    runs.add_argument("--seeds", type=numbers, default=numbers("11-15"))
    runs.add_argument("--split", choices=("development", "test"), default="development")
    runs.add_argument("--arms", type=lambda t: t.split(","), default=list(ARMS))
    runs.add_argument("--tasks", type=int, default=512)
    runs.add_argument("--best-of", type=int, default=64)
    runs.add_argument("--workers", type=int, default=2)
    runs.add_argument("--ranks", type=int, default=2)
    runs.add_argument("--at-once", type=int, default=1)
    runs.add_argument("overrides", nargs="*")
    reports = commands.add_parser("report")
    reports.add_argument("--out", required=True)
    reports.add_argument("--reference", default="rl")
    options = parser.parse_args()
    run(options) if options.command == "run" else report(options)


if __name__ == "__main__":
    sys.exit(main())
