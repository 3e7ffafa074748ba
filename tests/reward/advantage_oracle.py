"""Checks advantages written by test_advantage.cpp against numpy: argument 1 is the JSON file with the cases."""
import json
import sys

try:
    import numpy as np
except ImportError:
    print("numpy is missing")
    sys.exit(77)

used = 0
for case in json.load(open(sys.argv[1])):
    kept = [i for i, r in enumerate(case["rewards"]) if r is not None]
    r = np.array([case["rewards"][i] for i in kept], dtype=np.longdouble)
    expected = np.zeros(len(case["rewards"]), dtype=np.longdouble)
    if len(r) < 2:
        state = "too_few"
    elif np.all(r == r[0]):
        state = "zero_variance"
    else:
        state = "used"
        used += 1
        if case["kind"] == "zscore":
            expected[kept] = (r - np.mean(r)) / max(np.std(r), case["min_deviation"])
        elif case["kind"] == "mean_only":
            expected[kept] = r - np.mean(r)
        else:
            expected[kept] = [r[i] - np.mean(np.delete(r, i)) for i in range(len(r))]
    assert case["state"] == state, (case, state)
    got = np.array(case["advantages"], dtype=np.longdouble)
    scale = max(np.max(np.abs(expected)), np.longdouble(1e-30))
    assert got.shape == expected.shape and np.max(np.abs(got - expected)) <= 1e-12 * scale, (case, expected)
    if len(r):
        assert abs(case["mean"] - np.mean(r)) <= 1e-12 * np.max(np.abs(r)) + 1e-300, case
        assert abs(case["deviation"] - np.std(r)) <= 1e-12 * np.max(np.abs(r)) + 1e-300, case
assert used > 500, used
