"""Modelled against measured times of the same programs: whether programs of one task stand in the same order, and speed-ups over eager.

    BICRL_FORMS_FILE=measured.jsonl BICRL_FORMS_BYTES=67108864 test_tasks "[forms-file]"
    BICRL_FORMS_FILE=modelled.jsonl BICRL_FORMS_BYTES=2097152 BICRL_FORMS_REPEATS=32 test_tasks "[forms-file]"
    bicrl verify --tasks measured.jsonl --json measured.json --profile 'verifier.server={backend: gpu, gpu: {measure_times: true}}'
    bicrl verify --tasks modelled.jsonl --json modelled.json --profile verifier.server.cost_device=h100
    python3 bench/model_and_clock.py measured.json modelled.json [--outliers 10]

A program's task is its id up to the first blank. The order is that of all pairs of one task whose measured times differ by a tenth or
more. `fitted`: two factors, of what a launch costs and of all else, from every other task, tried on those between them."""
import argparse
import itertools
import json
import math
import random
from collections import defaultdict

LEAST = 1.1


def of_tasks(measured, modelled):
    """task -> list of (name, measured us, modelled us, eager us, modelled eager us, launches)"""
    model = {v["task_id"]: v for v in modelled["verdicts"] if v["correct"] and v["candidate_ms"] > 0}
    tasks = defaultdict(list)
    for v in measured["verdicts"]:
        name = v["task_id"]
        if not (v["correct"] and v["clock"] == "measured" and v["candidate_ms"] > 0 and name in model):
            continue
        m = model[name]
        tasks[name.split(" ")[0]].append((name, v["candidate_ms"] * 1e3, m["candidate_ms"] * 1e3, v["eager_ms"] * 1e3, m["eager_ms"] * 1e3,
                                          json.loads(m["counters"])["launches"]))
    return tasks


def pairs_of(programs, modelled):
    """(in order, all) of the pairs that differ; `modelled` gives a program's time."""
    right = count = 0
    for a, b in itertools.combinations(programs, 2):
        if max(a[1], b[1]) < LEAST * min(a[1], b[1]):
            continue
        count += 1
        right += (a[1] - b[1]) * (modelled(a) - modelled(b)) > 0
    return right, count


def ranks(values):
    order = sorted(range(len(values)), key=values.__getitem__)
    rank = [0.0] * len(values)
    for _, group in itertools.groupby(enumerate(order), key=lambda place: values[place[1]]):
        group = list(group)
        for _, i in group:
            rank[i] = sum(place for place, _ in group) / len(group)
    return rank


def spearman(x, y):
    a, b = ranks(x), ranks(y)
    mean_a, mean_b = sum(a) / len(a), sum(b) / len(b)
    spread = math.sqrt(sum((i - mean_a) ** 2 for i in a) * sum((j - mean_b) ** 2 for j in b))
    return sum((i - mean_a) * (j - mean_b) for i, j in zip(a, b)) / spread if spread else float("nan")


def bootstrap(tasks, figure):
    """95 % interval over tasks."""
    generator, names = random.Random(1), list(tasks)
    found = sorted(figure([tasks[n] for n in generator.choices(names, k=len(names))] if names else []) for _ in range(1000))
    return found[25], found[974]


def ordered(lists, modelled):
    found = [pairs_of(programs, modelled) for programs in lists]
    right, count = sum(r for r, _ in found), sum(c for _, c in found)
    return right / count if count else float("nan")


def fit(lists, launch_us):
    """Factors (of launches, of all else) with the least squared error of the measured times' logarithms."""
    best = (math.inf, 1, 1)
    programs = [p for programs in lists for p in programs]
    for of_launch in [i / 10 for i in range(0, 31)]:
        for of_rest in [i / 20 for i in range(10, 41)]:
            error = sum(math.log(with_factors(p, launch_us, of_launch, of_rest) / p[1]) ** 2 for p in programs)
            best = min(best, (error, of_launch, of_rest))
    return best[1:]


def with_factors(p, launch_us, of_launch, of_rest):
    return max(1e-3, of_launch * launch_us * p[5] + of_rest * (p[2] - launch_us * p[5]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measured")
    parser.add_argument("modelled")
    parser.add_argument("--launch-us", type=float, default=2.2, help="of one launch in the device's table")
    parser.add_argument("--outliers", type=int, default=10)
    options = parser.parse_args()
    tasks = of_tasks(json.load(open(options.measured)), json.load(open(options.modelled)))
    plain = lambda p: p[2]
    print("| task | programs | measured us | modelled us | measured / modelled | pairs in order |\n|---|---|---|---|---|---|")
    for name, programs in tasks.items():
        right, count = pairs_of(programs, plain)
        span = lambda i: f"{min(p[i] for p in programs):.1f} to {max(p[i] for p in programs):.1f}"
        ratio = math.exp(sum(math.log(p[1] / p[2]) for p in programs) / len(programs))
        print(f"| {name} | {len(programs)} | {span(1)} | {span(2)} | {ratio:.2f} | {right} of {count} |")
    every = [p for programs in tasks.values() for p in programs]
    several = {name: programs for name, programs in tasks.items() if len(programs) >= 3}
    low, high = bootstrap(several, lambda lists: ordered(lists, plain))
    print(f"\n{len(every)} programs of {len(tasks)} tasks; pairs of a task in order: {100 * ordered(several.values(), plain):.1f} % ({100 * low:.1f} to {100 * high:.1f})")
    print(f"Spearman of speed-ups over eager: {spearman([p[3] / p[1] for p in every], [p[4] / p[2] for p in every]):.3f}; "
          f"of times: {spearman([p[1] for p in every], [p[2] for p in every]):.3f}")
    launches = ordered(several.values(), lambda p: p[5])
    print(f"control, ordered by the number of launches alone: {100 * launches:.1f} % (equal numbers count as wrong)")
    halves = [dict(list(several.items())[i::2]) for i in (0, 1)]
    for here, there in (halves, halves[::-1]):
        if not here or not there:
            continue
        factors = fit(here.values(), options.launch_us)
        fitted = lambda p: with_factors(p, options.launch_us, *factors)
        error = lambda time: math.exp(sum(abs(math.log(time(p) / p[1])) for programs in there.values() for p in programs) / sum(map(len, there.values())))
        print(f"fitted on {len(here)} tasks: launches x {factors[0]}, all else x {factors[1]}; on the other {len(there)}: {100 * ordered(there.values(), fitted):.1f} % "
              f"in order ({100 * ordered(there.values(), plain):.1f} before), off by a factor of {error(fitted):.2f} ({error(plain):.2f} before)")
    print("\nfarthest off:")
    for p in sorted(every, key=lambda p: -abs(math.log(p[1] / p[2])))[:options.outliers]:
        print(f"  {p[0]}: {p[1]:.1f} us measured, {p[2]:.1f} modelled, {p[5]} launches")


if __name__ == "__main__":
    main()
