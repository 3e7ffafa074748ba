"""Checks the statistics in a JSON file of ours against exact fractions, Python's NormalDist and NumPy's bootstrap.
Usage: pass_at_k_oracle.py FIGURES.json"""
import json
import math
import sys
from fractions import Fraction
from statistics import NormalDist

try:
    import numpy as np
except ImportError:
    print("numpy is not installed")
    sys.exit(77)

figures = json.load(open(sys.argv[1]))


def close(found, expected, tolerance, what):
    assert abs(found - expected) <= tolerance * max(1.0, abs(expected)), f"{what}: {found} instead of {expected}"


for n, c, k, found in figures["pass_at_k"]:
    exact = 1 - Fraction(math.comb(n - c, k), math.comb(n, k))
    assert abs(Fraction(found) - exact) <= Fraction(1, 10**12) * exact, f"pass@{k} of {c}/{n}: {found}, {float(exact)}"

for p, found in figures["quantiles"]:
    close(found, NormalDist().inv_cdf(p), 1e-9, f"quantile {p}")

for successes, trials, confidence, low, high in figures["wilson"]:
    # The interval's ends are the shares that lie z standard errors (of their own) from the observed one.
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    share = successes / trials
    for end in (low, high):
        close((share - end) ** 2 * trials, z * z * end * (1 - end), 1e-9, f"Wilson {successes}/{trials}")
    assert 0 <= low <= share <= high <= 1

for values, confidence, low, high in figures["bootstrap"]:
    values = np.array(values)
    draws = np.random.default_rng(5).integers(0, len(values), (20000, len(values)))
    means = values[draws].mean(axis=1)
    expected = np.percentile(means, [50 - 50 * confidence, 50 + 50 * confidence])
    tolerance = 0.15 * (expected[1] - expected[0]) / 2
    close(low, expected[0], tolerance, "bootstrap, low")
    close(high, expected[1], tolerance, "bootstrap, high")
print({name: len(rows) for name, rows in figures.items()})
