"""Tables of what the runs of bench/learning.py reached.

    python3 bench/learning_report.py report --out build/learning [--reference rl]
    python3 bench/learning_report.py discovery --out build/learning --program build/cpu/bin/bicrl [--mode rl] [--workers 2] [--show 3]
    python3 bench/learning_report.py families --out build/learning
    python3 bench/learning_report.py fastest --out build/learning [--mode rl] [--show 20]

`report`: rates, speed-ups, and the reference against every other mode, paired by seed and task, with 95 % intervals of a bootstrap that
draws seeds and, within them, tasks. *Unknown* tasks are of the kind that training tasks without a known program are of.
`discovery`: of the tasks with a correct answer whose technique was held back (its signature: tasks/synthetic/technique.h), all programs
shown for such operators are verified on the same task; a discovery is an answer whose modelled time is less than that of each of them.
`families`: correct rates by what a task has beside elementwise operators, and where.
`fastest`: the answers with the largest speed-up, to be read."""
import argparse
import json
import math
import random
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1]
RESAMPLES = 2000
LEAST_GAIN = 1.01  # the model's own precision where programs run on part of the rows


def lines_of(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def last_of(folder, suffix=""):
    """The answers of a run's last evaluation."""
    phases = list(dict.fromkeys(step["phase"] for step in lines_of(folder / "metrics.jsonl")))
    return lines_of(folder / "evaluations" / f"{phases[-1]}{suffix}.jsonl")


def speed(answer):
    return answer.get("speedup") or 0


def compositions(tasks):
    return {t["id"]: t["composition"] for t in json.loads((tasks / "held_out.json").read_text())}


def unknown_ids(tasks):
    """Held-out tasks of the kind of which nobody knows programs in training: with such an operator between two others."""
    interior_operators = {t["composition"][1] for t in json.loads((tasks / "train.json").read_text()) if len(t["composition"]) == 3 and not t.get("cuda_code")}
    return {t["id"] for t in json.loads((tasks / "held_out.json").read_text()) if interior_operators.intersection(t["composition"][1:-1])}


def folders(out, modes):
    """Those of the modes' runs, by the seeds' numbers."""
    return sorted(Path(out).glob(f"seed-*/{modes}"), key=lambda folder: (int(folder.parent.name.removeprefix("seed-")), folder.name))


class Modes:
    """Greedy answers by mode, seed and task."""

    def __init__(self, out):
        self.of, self.unknown, self.tasks, self.best_of = {}, {}, {}, {}
        for folder in folders(out, "*/"):
            seed = folder.parent.name
            if not (folder / "summary.json").exists():
                continue
            self.of.setdefault(folder.name, {})[seed] = {a["task_id"]: a for a in last_of(folder)}
            if seed not in self.unknown:
                self.unknown[seed] = unknown_ids(folder.parent / "tasks")
                self.tasks[seed] = compositions(folder.parent / "tasks")
            answers = self.of[folder.name][seed].values()
            if not all("composition" in answer for answer in answers):
                print(f"{folder} does not say what its tasks are: {folder.parent / 'tasks'} is believed", file=sys.stderr)
            for answer in answers:
                if self.tasks[seed].get(answer["task_id"]) != answer.get("composition", self.tasks[seed].get(answer["task_id"])):
                    sys.exit(f"{folder}: {answer['task_id']} is another task than in {folder.parent / 'tasks'}; delete that folder")
            if folder.name == "warm_up" and list(folder.glob("evaluations/*_best_of.jsonl")):
                self.best_of[seed] = best_of_each(last_of(folder, "_best_of"))

    def pairs(self, one, other, unknown_only=False):
        """[seed][task] -> (answer of one, answer of the other)"""
        return [[(one[s][t], other[s][t]) for t in sorted(one[s].keys() & other[s].keys()) if not unknown_only or t in self.unknown[s]]
                for s in sorted(one.keys() & other.keys())]


def best_of_each(samples):
    best = {}
    for sample in samples:
        task = sample["task_id"]
        if task not in best or (sample["correct"], speed(sample)) > (best[task]["correct"], speed(best[task])):
            best[task] = sample
    return best


# ---- Statistics of pairs.
def bootstrap(seeds, statistic):
    """The statistic and its 95 % interval: seeds are drawn, and tasks within them."""
    draw, values = random.Random(1), []
    for _ in range(RESAMPLES):
        chosen = [seeds[draw.randrange(len(seeds))] for _ in seeds]
        values.append(statistic([[s[draw.randrange(len(s))] for _ in s] for s in chosen if s]))
    values = sorted(v for v in values if v is not None)
    middle = statistic(seeds)
    if middle is None or not values:
        return math.nan, math.nan, math.nan
    return middle, values[int(0.025 * len(values))], values[int(0.975 * len(values)) - 1]


def geometric_mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None


def ratio_on_both(seeds):
    return geometric_mean([speed(a) / speed(b) for s in seeds for a, b in s if speed(a) > 0 and speed(b) > 0])


def ratio_over_all(seeds):
    return geometric_mean([max(1.0, speed(a)) / max(1.0, speed(b)) for s in seeds for a, b in s])


def correct_difference(seeds):
    pairs = [100 * (a["correct"] - b["correct"]) for s in seeds for a, b in s]
    return sum(pairs) / len(pairs) if pairs else None


def estimate_text(figures, form):
    middle, low, high = (format(f, form) for f in figures)
    return f"{middle} ({low} to {high})"


# ---- The commands.
def print_table(modes, unknown):
    print("| mode | correct (seeds) | of the unknown kind | speed-up of the correct | fast_1 | fast_2 | novel |\n|---|---|---|---|---|---|---|")
    for name, seeds in modes.items():
        print(row(name, seeds, unknown))


def row(name, seeds, unknown):
    answers = [a for s in seeds.values() for a in s.values()]
    hard = [a for seed, s in seeds.items() for task, a in s.items() if task in unknown[seed]]
    share = lambda rows, test: f"{100 * sum(map(test, rows)) / len(rows):.1f} %" if rows else "none"
    each = ", ".join(f"{100 * sum(a['correct'] for a in s.values()) / len(s):.1f}" for s in seeds.values())
    mean = geometric_mean([speed(a) for a in answers if speed(a) > 0])
    return (f"| {name} | {share(answers, lambda a: a['correct'])} ({each}) | {share(hard, lambda a: a['correct'])} | {mean or 0:.2f} | "
            f"{share(answers, lambda a: speed(a) > 1)} | {share(answers, lambda a: speed(a) > 2)} | {share(answers, lambda a: a.get('novel', False))} |")


def report(options):
    modes = Modes(options.out)
    print_table(modes.of, modes.unknown)
    if options.reference not in modes.of:
        return
    reference = modes.of[options.reference]
    print(f"\n| {options.reference} against | speed-up, both correct | over all tasks, incorrect = 1, at least eager | correct, points | of the unknown kind, points |\n|---|---|---|---|---|")
    for mode, seeds in modes.of.items():
        pairs = modes.pairs(reference, seeds)
        if mode == options.reference or not pairs:
            continue
        hard = modes.pairs(reference, seeds, unknown_only=True)
        print(f"| {mode} | {estimate_text(bootstrap(pairs, ratio_on_both), '.2f')} | {estimate_text(bootstrap(pairs, ratio_over_all), '.2f')} | "
              f"{estimate_text(bootstrap(pairs, correct_difference), '+.1f')} | {estimate_text(bootstrap(hard, correct_difference), '+.1f')} |")
    if modes.best_of:
        print("\nOn the tasks that the warm-up answered 8 times, greedy beside its best of 8:\n")
        on_the_same = lambda seeds: {seed: {t: seeds[seed][t] for t in best} for seed, best in modes.best_of.items() if seed in seeds}
        print_table({"best of 8 of the warm-up": modes.best_of, **{mode: on_the_same(seeds) for mode, seeds in modes.of.items()}}, modes.unknown)


KINDS = {**dict.fromkeys(("sum", "mean", "max"), "reduction"), **dict.fromkeys(("avg3", "max3", "diff"), "stencil"), "softmax": "softmax"}


def family_of(composition):
    special = [(KINDS[operator], i) for i, operator in enumerate(composition) if operator in KINDS]
    if len(special) > 1:
        return "several of these"
    if special:
        kind, place = special[0]
        return f"{kind}, {'first' if place == 0 else 'last' if place == len(composition) - 1 else 'between others'}"
    return "rows" if any(operator.endswith("_row") for operator in composition) else "elementwise"


def families(options):
    modes = Modes(options.out)
    found = {}
    for mode, seeds in modes.of.items():
        for seed, answers in seeds.items():
            for task, answer in answers.items():
                found.setdefault(family_of(modes.tasks[seed][task]), {}).setdefault(mode, []).append(answer["correct"])
    print("| family | tasks | " + " | ".join(modes.of) + " |\n|---|---|" + "---|" * len(modes.of))
    for family, by_mode in sorted(found.items(), key=lambda item: -max(map(len, item[1].values()))):
        rates = [f"{100 * sum(by_mode[mode]) / len(by_mode[mode]):.1f} %" if mode in by_mode else "" for mode in modes.of]
        print(f"| {family} | {max(map(len, by_mode.values()))} | " + " | ".join(rates) + " |")


def shown_times(options, folder, wanted):
    """[task] -> modelled milliseconds of every program that is shown for its operators; kept beside the runs."""
    kept = folder / "shown_times.json"
    times = json.loads(kept.read_text()) if kept.exists() else {}
    missing = [t for t in json.loads((folder / "tasks/held_out.json").read_text()) if t["id"] in wanted and t["id"] not in times]
    if missing:
        candidates = [{**{key: t[key] for key in ("level", "pytorch_code")}, "id": f"{t['id']} {n}", "cuda_code": code}
                      for t in missing for n, code in enumerate([t["cuda_code"], *(a["cuda_code"] for a in t.get("alternatives", []))])]
        (folder / "shown.jsonl").write_text("".join(json.dumps(c) + "\n" for c in candidates))
        # Its exit status says whether all are correct; the times say so below.
        subprocess.run([options.program, "verify", "--profile", "--tasks", folder / "shown.jsonl", "--json", folder / "shown_verdicts.json",
                        f"verifier.server.workers={options.workers}", "verifier.server.cost_device=l4"], stdout=subprocess.DEVNULL, cwd=SOURCE)
        for verdict in json.loads((folder / "shown_verdicts.json").read_text())["verdicts"]:
            if not verdict["correct"]:
                print(f"{folder.name}: a shown program of {verdict['task_id']} is {verdict['outcome']} {verdict['fault_class']}", file=sys.stderr)
                continue
            times.setdefault(verdict["task_id"].split()[0], []).append(verdict["candidate_ms"])
        kept.write_text(json.dumps(times))
    return times


def discovery(options):
    found, count = [], 0
    print("| seed | tasks | correct by a novel technique | cheaper than all that was shown |\n|---|---|---|---|")
    for folder in folders(options.out, options.mode):
        if not (folder / "summary.json").exists():
            continue
        answers = last_of(folder)
        new = {a["task_id"]: a for a in answers if a.get("novel") and speed(a) > 0}
        times = shown_times(options, folder.parent, new)
        cheaper = [(min(times[t]) / a["candidate_ms"], folder.parent, a) for t, a in new.items() if min(times[t]) > LEAST_GAIN * a["candidate_ms"]]
        found, count = found + cheaper, count + len(answers)
        print(f"| {folder.parent.name} | {len(answers)} | {len(new)} | {len(cheaper)} ({100 * len(cheaper) / len(answers):.1f} %) |")
    print(f"\n{len(found)} of {count}: {100 * len(found) / max(1, count):.1f} %")
    for gain, folder, answer in sorted(found, key=lambda f: -f[0])[: options.show]:
        task = next(t for t in json.loads((folder / "tasks/held_out.json").read_text()) if t["id"] == answer["task_id"])
        print(f"\n{folder.name} {answer['task_id']} ({', '.join(task['composition'])}): {1000 * answer['candidate_ms']:.1f} us, {gain:.2f} times as fast as all "
              f"shown, {speed(answer):.2f} times as eager; {answer['technique']}\n{answer['program']}")


def fastest(options):
    for folder in folders(options.out, options.mode):
        tasks = {t["id"]: t for t in json.loads((folder.parent / "tasks/held_out.json").read_text())}
        for answer in sorted(last_of(folder), key=lambda a: -speed(a))[: options.show]:
            print(f"\n=== {folder.parent.name} {answer['task_id']} ({', '.join(tasks[answer['task_id']]['composition'])}): {speed(answer):.2f} times as fast as eager, "
                  f"{1000 * answer['candidate_ms']:.1f} us, bound by {answer['bound_by']}; {answer['technique']}\n{answer['program']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, work in (("report", report), ("discovery", discovery), ("families", families), ("fastest", fastest)):
        command = commands.add_parser(name)
        command.set_defaults(work=work)
        command.add_argument("--out", required=True)
        if name == "report":
            command.add_argument("--reference", default="rl")
        if name in ("report", "families"):
            continue
        command.add_argument("--mode", default="rl")
        command.add_argument("--show", type=int, default=3 if name == "discovery" else 20)
        if name == "discovery":
            command.add_argument("--program", required=True, type=lambda p: str(Path(p).resolve()))
            command.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    options.work(options)


if __name__ == "__main__":
    sys.exit(main())
