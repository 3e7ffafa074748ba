"""Whether what a program does not read decides about the answer. Where the reference answers for a few long slices, a test input
shows few places: the largest of a million elements stands somewhere, and a program that never looks there is right nearly
always. But what it has not read could be anything, and it would answer the same. So that is filled with values that stand
out, and where the reference then answers otherwise, the program is wrong. In fp64 that shows of one term among millions, of which
the answer's own rounding leaves nothing to see.
"""
import torch

from oracle_test_inputs import TestInputs
from oracle_reference import agrees
from oracle_values import InvalidTask, leaves, readable, readable_leaves, with_leaves

MOST_SLICES, LEAST_PLACES = 16, 256  # more slices show enough places by themselves; fewer places are hardly left out
SO_LONG = 8192  # that among so many places one hardly shows in an answer
# Another answer: so many allowances, and so much of itself. Of fp64 runs; where a skipped term is nothing to the sum (a share that
# softmax rounds to zero), it is less.
EXACTLY, EXACTLY_RELATIVE = 2.0**-7, 2.0**-22
CLEARLY, CLEARLY_RELATIVE = 16.0, 1e-2  # of runs in the task's own types


def are_long(places):
    """Is a leaf that is cut so (oracle_places.py, or None) one of long slices, and of few if they are not very long?"""
    return places is not None and (places.slices.inner >= SO_LONG or
                                   places.slices.rows <= MOST_SLICES and places.slices.inner >= LEAST_PLACES)


def decides(reference, blobs, unread):
    """Does the reference clearly answer otherwise on a test input if what is unread stands out? `blobs`: of each input leaf its
    storage, then of each output leaf its allowance. `unread`: (leaf, first and last-but-one byte) of runs."""
    reference.find_arguments()
    reference.build()
    test_inputs = TestInputs(reference.inputs, 0)
    given = test_inputs.plain()
    inputs = [_of_storage(blob, leaf) for blob, leaf in zip(blobs, leaves(given))]
    own = readable_leaves(reference.forward(with_leaves(given, inputs))[0])
    allowed = [torch.frombuffer(bytearray(blob), dtype=torch.float32 if y.is_floating_point() else torch.bool).view(y.shape)
               if y.numel() else torch.zeros(y.shape) for blob, y in zip(blobs[len(inputs):], own)]
    exact = reference.exact(with_leaves(given, inputs))
    is_exact = agrees(own, exact)
    least = (EXACTLY, EXACTLY_RELATIVE) if is_exact else (CLEARLY, CLEARLY_RELATIVE)
    for side in (0, 1):
        changed = with_leaves(given, [_standing_out(leaf, [run[1:] for run in unread if run[0] == position], nature, side)
                                      for position, (leaf, nature) in enumerate(zip(inputs, test_inputs.natures))])
        answer = _answer(reference, changed, is_exact)
        if answer and len(answer) == len(own) and any(
                _is_other(*of_leaf, *least) for of_leaf in zip(answer, exact if is_exact else own, allowed)):
            return True
    return False


def _answer(reference, inputs, is_exact):
    """None if it has none."""
    if is_exact:
        return reference.exact(inputs)
    try:
        return readable_leaves(reference.forward(inputs)[0])
    except InvalidTask:
        return None


def _of_storage(blob, leaf):
    if not leaf.numel():
        return leaf
    return torch.frombuffer(bytearray(blob), dtype=leaf.dtype).as_strided(leaf.shape, leaf.stride())


def _standing_out(leaf, runs, nature, side):
    """With values above (side 0) or below all others, where the task's inputs may be."""
    if not runs:
        return leaf
    high, low = float(readable(leaf).max()) + nature.deviation, float(readable(leaf).min()) - nature.deviation
    if nature.probability:
        values = min(high, 1.0), max(low, 0.0)
    else:
        values = high if nature.high > 0 else min(high, 0.0), low if nature.low < 0 else max(low, 0.0)
    size = leaf.element_size()
    storage = leaf.as_strided((leaf.untyped_storage().nbytes() // size,), (1,)).clone()
    for begin, end in runs:
        storage[-(-begin // size):end // size] = values[side]
    return storage.as_strided(leaf.shape, leaf.stride())


def _is_other(answer, known, allowed, allowances, relative):
    if answer.shape != known.shape:
        return False
    if not known.is_floating_point():
        return bool(((answer != known) & ~allowed).any())
    answer, known = answer.double(), known.double()
    return bool(((answer - known).abs() > torch.maximum(allowances * allowed, relative * known.abs())).any())
