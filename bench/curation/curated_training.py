"""Does curated data teach more than the same samples unfiltered? Supervised training and a short reinforcement on each, seed by seed.

    python3 bench/curation/curated_training.py --program build/cpu/bin/bicrl --out build/curated [--seeds 1-3] [--policy FOLDER] [--start FOLDER]

`bicrl curate configs/curation/quickstart.yaml` asks the quickstart's policy (--policy) for samples to synthesised tasks and keeps the
verified ones that are fast enough: pairs and an infilling set. The unfiltered set is drawn by seed from the same samples, as many of
them. From what the quickstart's warm-up left (--start) each seed trains on either set: supervised on the pairs, then a few steps of
the quickstart's first end-to-end stage on the tasks of the infilling set, whose programs it imitates. Held-out tasks have pairs of operators that
neither set has; each policy gives one greedy response to each. It goes on where it was stopped; `--only report` prints the tables
of the runs that are finished."""
import argparse
import json
import math
import os
import random
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "bench"))
from verifier_process import running_verifier  # noqa: E402

SETS = ("curated", "unfiltered")
PHASES = {"warm_up": "supervised", "end_to_end": "and reinforcement"}  # behind which a run is evaluated
STEPS = (0, 3, 0)  # of the quickstart's stages: infilling, end to end, end to end
RESAMPLES = 2000
ENVIRONMENT = dict(os.environ, OMP_NUM_THREADS="1")
UNFILTERED = """curation: {{directory: {directory}}}
steps:
  - {{step: load, files: [{samples}], form: records}}
  - {{step: cut_scaffold}}
  - {{step: write, file: infilling.json, form: infilling, when: [{{value: has_scaffold, equals: "true"}}]}}
  - {{step: write, file: pairs.jsonl, form: pairs, prompt_style: compact}}
"""


def call(command, log):
    """Seconds that it took."""
    begin = time.monotonic()
    with open(log, "w") as out:
        code = subprocess.run([str(word) for word in command], stdout=out, stderr=subprocess.STDOUT, cwd=SOURCE, env=ENVIRONMENT).returncode
    if code:
        sys.exit(f"{' '.join(map(str, command[1:3]))} fails with {code}: {log}")
    return time.monotonic() - begin


def records(folder, step):
    return [json.loads(line) for line in next((folder / "records").glob(f"*-{step}.jsonl")).read_text().splitlines()]


class Experiment:
    def __init__(self, options):
        self.o, self.out = options, Path(options.out).resolve()
        self.out.mkdir(parents=True, exist_ok=True)

    # ---- Data

    def curate(self):
        folder = self.out / "curated"
        taken = call([self.o.program, "curate", "configs/curation/quickstart.yaml", f"curation.directory={folder}",
                      f"steps.2.overrides=[policy.checkpoint={self.o.policy}]", *self.o.curation], self.out / "curated.log")
        print(f"curated in {taken:.0f} s", flush=True)

    def draw(self, seed):
        """As many samples as the curated pairs are, of all that have a program."""
        folder = self.folder("unfiltered", seed)
        if (folder / "pairs.jsonl").exists():
            return
        count = len((self.out / "curated/pairs.jsonl").read_text().splitlines())
        samples = [r for r in records(self.out / "curated", "generate") if r.get("answer", {}).get("program")]
        drawn = random.Random(seed).sample(samples, count)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "samples.jsonl").write_text("".join(json.dumps(record) + "\n" for record in drawn))
        (folder / "unfiltered.yaml").write_text(UNFILTERED.format(directory=folder, samples=folder / "samples.jsonl"))
        call([self.o.program, "curate", folder / "unfiltered.yaml"], folder / "curate.log")

    def folder(self, name, seed):
        return self.out / ("curated" if name == "curated" else f"unfiltered-{seed}")

    def hold_out(self):
        if not (self.out / "tasks/test.json").exists():
            call([self.o.program, "tasks", "configs/quickstart.yaml", "--write", self.out / "tasks"], self.out / "tasks.log")
        tasks = json.loads((self.out / "tasks/test.json").read_text())
        (self.out / "held_out.json").write_text(json.dumps(tasks[:self.o.tasks]))

    # ---- Training

    def train(self, job):
        name, seed = job
        run = self.out / f"{name}-run-{seed}"
        state = run / "run.json"
        if state.exists() and '"finished":true' in state.read_text():
            return
        data = self.folder(name, seed)
        stages = [f"stages.{i}.steps={steps}" for i, steps in enumerate(STEPS)]
        taken = call([self.o.program, "train", "configs/quickstart.yaml", f"run.directory={run}", f"run.seed={seed}",
                      f"policy.checkpoint={self.o.start}", "policy.config=", f"verifier.addresses=[{self.address}]",
                      f"tasks={{train: [{data / 'infilling.json'}], held_out: [{self.out / 'held_out.json'}], prompt_style: compact}}",
                      f"warm_up.pairs={{sources: [{{file: {data / 'pairs.jsonl'}}}]}}", "warm_up.steps=80",
                      "warm_up.update.learning_rate=2e-4", "warm_up.update.warmup_updates=10", *stages, "stages.1.tasks_per_step=8",
                      f"evaluation.tasks={self.o.tasks}", "evaluation.best_of={}", *self.o.overrides],
                     run.with_suffix(".log"))
        print(f"{run.name}: {taken:.0f} s", flush=True)

    def evaluate_start(self):
        figures = self.out / "start.json"
        if not figures.exists():
            call([self.o.program, "eval", "configs/eval.yaml", f"policy.checkpoint={self.o.start}", f"verifier.addresses=[{self.address}]",
                  f"tasks={{files: [{self.out / 'held_out.json'}], prompt_style: compact}}", "samples_per_task=1", "pass_at_k=[1]",
                  "rollout.temperature=0", "measure_time=true", "--json", figures], self.out / "start.log")

    def run(self):
        self.hold_out()
        self.curate()
        for seed in self.o.seeds:
            self.draw(seed)
        with running_verifier(self.o.program, f"workers={self.o.workers}", "cost_device=l4") as self.address:
            self.evaluate_start()
            with ThreadPoolExecutor(self.o.at_once) as pool:
                list(pool.map(self.train, [(name, seed) for seed in self.o.seeds for name in SETS]))

    # ---- Report

    def answers(self, name, phase):
        """By seed, in the tasks' order, of the runs that have ended."""
        found = {}
        for seed in self.o.seeds:
            file = self.out / f"{name}-run-{seed}/evaluations/{phase}.jsonl"
            if file.exists():
                lines = [json.loads(line) for line in file.read_text().splitlines()]
                found[seed] = sorted(lines, key=lambda a: a["task_id"])
        return found

    def report(self):
        report_data(self.out)
        print("\n| trained on | behind | correct (seeds) | speed-up of the correct | fast_1 (seeds) | fast_2 |\n|---|---|---|---|---|---|")
        start = self.out / "start.json"
        if start.exists():
            print(f"| nothing: the warm-up | | {figures_of(json.loads(start.read_text()))} |")
        for phase, behind in PHASES.items():
            for name in SETS:
                print(row(name, behind, self.answers(name, phase)))
        print("\n| curated against unfiltered, paired by seed and task | behind | value (95 %) | seeds |\n|---|---|---|---|")
        for phase, behind in PHASES.items():
            curated, unfiltered = (self.answers(name, phase) for name in SETS)
            pairs = {seed: list(zip(curated[seed], unfiltered[seed])) for seed in curated if seed in unfiltered}
            for title, measure, unit in MEASURES:
                print(f"| {title} | {behind} | {interval(pairs, measure, unit)} |")


def figures_of(report):
    percent = lambda key: f"{100 * report['all'][key]['value']:.1f} %"
    return f"{percent('correct')} | {report['all']['speedup']['value']:.2f} | {percent('fast_1')} | {percent('fast_2')}"


def report_data(out):
    samples, kept = records(out / "curated", "generate"), records(out / "curated", "decontaminate")
    verdicts = [r["verdict"] for r in records(out / "curated", "verify") if "verdict" in r]
    correct = sum(v.get("correct", False) for v in verdicts)
    print(f"{len(samples)} samples, {len(verdicts)} with a program, {correct} correct, {len(kept)} kept")
    for folder in sorted(out.glob("unfiltered-?")):
        drawn = {json.loads(line)["id"] for line in (folder / "samples.jsonl").read_text().splitlines()}
        good = len(drawn & {r["id"] for r in kept})
        print(f"{folder.name}: {len(drawn)} drawn, {good} of them would have been kept; "
              f"{len(json.loads((folder / 'infilling.json').read_text()))} in the infilling set")
    print(f"curated: {len(json.loads((out / 'curated/infilling.json').read_text()))} in the infilling set")


def speed(answer):
    return answer.get("speedup") or 0


def share(answers, least):
    return 100 * sum(a["correct"] and speed(a) >= least for a in answers) / len(answers)


def row(name, behind, by_seed):
    if not by_seed:
        return f"| {name} | {behind} | not run | | | |"
    everything = [a for answers in by_seed.values() for a in answers]
    rates = ", ".join(f"{share(answers, 0):.1f}" for answers in by_seed.values())
    fast = ", ".join(f"{share(answers, 1):.1f}" for answers in by_seed.values())
    logs = [math.log(speed(a)) for a in everything if a["correct"] and speed(a) > 0]
    return (f"| {name} | {behind} | {share(everything, 0):.1f} % ({rates}) | {math.exp(sum(logs) / max(len(logs), 1)):.2f} | "
            f"{share(everything, 1):.1f} % ({fast}) | {share(everything, 2):.1f} % |")


def both_correct(pairs):
    """Ratio of speed-ups where both are correct."""
    logs = [math.log(speed(a) / speed(b)) for a, b in pairs if a["correct"] and b["correct"] and speed(a) > 0 and speed(b) > 0]
    return math.exp(sum(logs) / max(len(logs), 1))


def over_all(pairs):
    """Ratio over all tasks, what is incorrect or slower than eager PyTorch counted as 1."""
    worth = lambda a: math.log(max(1.0, speed(a))) if a["correct"] else 0.0
    return math.exp(sum(worth(a) - worth(b) for a, b in pairs) / len(pairs))


def points(least):
    return lambda pairs: share([a for a, _ in pairs], least) - share([b for _, b in pairs], least)


MEASURES = (("correct", points(0), "points"), ("fast_1", points(1), "points"), ("speed-up, both correct", both_correct, "times"),
            ("speed-up over all tasks, incorrect or slower = 1", over_all, "times"))


def interval(pairs, measure, unit):
    """"value (95 % of a bootstrap that draws seeds and, within them, tasks) | by seed"."""
    if not pairs:
        return "not run | "
    show = (lambda x: f"{x:+.1f} points") if unit == "points" else (lambda x: f"{x:.2f}")
    draws, generator = [], random.Random(1)
    for _ in range(RESAMPLES):
        seeds = generator.choices(list(pairs), k=len(pairs))
        draws.append(measure([pair for seed in seeds for pair in generator.choices(pairs[seed], k=len(pairs[seed]))]))
    draws.sort()
    low, high = draws[int(0.025 * RESAMPLES)], draws[int(0.975 * RESAMPLES)]
    value = measure([pair for seed in pairs for pair in pairs[seed]])
    return f"{show(value)} ({show(low)} to {show(high)}) | {', '.join(show(measure(pairs[seed])) for seed in pairs)}"


def numbers(text):
    first, _, last = text.partition("-")
    return list(range(int(first), int(last or first) + 1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    resolved = lambda path: str(Path(path).resolve())
    parser.add_argument("--program", required=True, type=resolved)
    parser.add_argument("--out", required=True)
    parser.add_argument("--seeds", type=numbers, default=numbers("1-3"))
    parser.add_argument("--policy", type=resolved, default=SOURCE / "runs/quickstart/checkpoints/end_to_end_2", help="whose samples are curated")
    parser.add_argument("--start", type=resolved, default=SOURCE / "runs/quickstart/checkpoints/warm_up", help="from which training starts")
    parser.add_argument("--tasks", type=int, default=96, help="held-out tasks")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--at-once", type=int, default=2)
    parser.add_argument("--only", choices=("report",))
    parser.add_argument("--curation", action="append", default=[], help="an override of the pipeline")
    parser.add_argument("overrides", nargs="*", help="of every training run")
    options = parser.parse_args()
    experiment = Experiment(options)
    if options.only != "report":
        begin = time.monotonic()
        experiment.run()
        print(f"all of it took {time.monotonic() - begin:.0f} s")
    experiment.report()


if __name__ == "__main__":
    sys.exit(main())
