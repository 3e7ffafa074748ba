"""The arithmetic of KernelBench's analysis script, written from its description, over two files of ours; compares with our figures.
Usage: kernelbench_analysis.py EVAL_RESULTS.json BASELINE.json LEVEL FIGURES.json      FIGURES: {"problems": numbers, "compiled",
"correct", "fast_p": {"0": ...}, "speedup"}"""
import json
import math
import sys

results, baselines, figures = (json.load(open(path)) for path in (sys.argv[1], sys.argv[2], sys.argv[4]))
level = baselines["level" + sys.argv[3]]

# Of each problem the sample with number 0; what has none is appended as a failure.
entries = {}
for problem, samples in results.items():
    first = [sample for sample in samples if sample["sample_id"] == 0]
    assert len(first) <= 1, f"problem {problem} has several samples with number 0"
    if first:
        entries[problem] = first[0]
for number in figures["problems"]:
    entries.setdefault(str(number), {"compiled": False, "correctness": False, "runtime": -1.0})

# Results and baselines are paired by their place.
assert [int(problem) for problem in entries] == figures["problems"], "problems are not in the order of their numbers"
assert [int(name.split("_")[0]) for name in level] == figures["problems"], "baselines are in another order"
assert all(name.endswith(".py") for name in level)
for entry in level.values():
    assert set(entry) >= {"mean", "std", "min", "max", "num_trials", "hardware", "device"}
for samples in results.values():
    for sample in samples:
        assert list(sample) == ["sample_id", "compiled", "correctness", "metadata", "runtime", "runtime_stats", "ref_runtime", "ref_runtime_stats"]
n = len(entries)
correct = [entry["correctness"] for entry in entries.values()]
means = [entry["mean"] for entry in level.values()]
runtimes = [entry["runtime"] for entry in entries.values()]
assert len(means) == len(runtimes) == n

speedups = [mean / runtime for is_correct, mean, runtime in zip(correct, means, runtimes) if is_correct]
for p, found in figures["fast_p"].items():
    expected = sum(speedup > float(p) for speedup in speedups) / n
    assert math.isclose(found, expected, rel_tol=1e-12), f"fast_{p}: {found} instead of {expected}"
assert list(figures["fast_p"]) == ["0", "0.5", "0.8", "1", "1.5", "2", "4"]
assert math.isclose(figures["compiled"], sum(entry["compiled"] for entry in entries.values()) / n, rel_tol=1e-12)
assert math.isclose(figures["correct"], sum(correct) / n, rel_tol=1e-12)
if speedups and all(speedup > 0 for speedup in speedups):
    expected = math.prod(speedups) ** (1 / len(speedups))
    assert math.isclose(figures["speedup"], expected, rel_tol=1e-9), f"{figures['speedup']} instead of {expected}"
print(n, "problems,", len(speedups), "correct")
