"""When an element's own error is raised to that of its octave: own_error_check.py FOLDER OF THE RUNTIMES."""
import sys

import torch

sys.path.insert(0, sys.argv[1])
from oracle_profile import MOST_BY_OCTAVE, raised_by_octave  # noqa: E402

USUAL = 0.5
most = USUAL * MOST_BY_OCTAVE


def raised(errors, sizes, usual=USUAL):
    return raised_by_octave(torch.tensor(errors), torch.tensor(sizes), usual).tolist()


def near(found, wanted):
    return all(abs(a - b) <= 1e-6 * abs(b) for a, b in zip(found, wanted, strict=True))


# Small answers of one octave have the largest of their errors, up to the limit; other octaves and zeros their own.
assert near(raised([5e-5, 0.0, 1e-6, 2e-6], [0.001, 0.0015, 0.003, 0.0]), [5e-5, 5e-5, 1e-6, 2e-6])
assert near(raised([0.1, 1e-7], [0.001, 0.0011]), [0.1, most])
# What is not small is judged by its own error, whatever its neighbours': else one element would excuse all.
assert near(raised([1e-3, 1e-8], [0.6, 0.7]), [1e-3, 1e-8])
assert near(raised([1e-3, 1e-8], [0.04, 0.045]), [1e-3, 1e-8])
# Nothing was cancelled.
assert raised([1e-8, 0.0], [0.001, 0.0011]) == torch.tensor([1e-8, 0.0]).tolist()
# None, one number, no usual size; a task may have changed the default type.
torch.set_default_dtype(torch.float64)
assert raised_by_octave(torch.zeros(0, dtype=torch.float32), torch.zeros(0, dtype=torch.float32), 1.0).numel() == 0
assert raised_by_octave(torch.tensor(0.1, dtype=torch.float32), torch.tensor(0.01, dtype=torch.float32), 1.0).shape == ()
assert near(raised_by_octave(torch.tensor([0.1, 0.2], dtype=torch.float32), torch.zeros(2, dtype=torch.float32), 0.0).tolist(), [0.1, 0.2])
