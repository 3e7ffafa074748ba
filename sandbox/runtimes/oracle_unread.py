"""Whether what a program does not read decides about the answer. Where the reference answers for a few long slices, a draw
shows few places: the largest of a million elements stands somewhere, and a program that never looks there is right nearly
always. But what it has not read could be anything, and it would answer the same. So that is filled with values that stand
out, and where the reference then answers otherwise, the program is wrong.
"""
import torch

from oracle_draws import Draws
from oracle_values import TaskFault, leaves, with_leaves

MOST_SLICES, LEAST_PLACES = 16, 256  # more slices show enough places by themselves; fewer places are hardly left out
CLEARLY = 16.0  # allowances, and
CLEARLY_RELATIVE = 1e-2


def are_long(places):
    """Is a leaf that is cut so (oracle_places.py, or None) one of few long slices?"""
    return places is not None and places.slices.rows <= MOST_SLICES and places.slices.inner >= LEAST_PLACES


def decides(reference, blobs, unread):
    """Does the reference clearly answer otherwise on a draw if what is unread stands out? `blobs`: of each input leaf its
    storage, then of each output leaf its allowance. `unread`: (leaf, first and last-but-one byte) of runs."""
    reference.find_arguments()
    reference.build()
    draws = Draws(reference.inputs, 0)
    given = draws.plain()
    inputs = [_of_storage(blob, leaf) for blob, leaf in zip(blobs, leaves(given))]
    own = leaves(reference.forward(with_leaves(given, inputs))[0])
    allowed = [torch.frombuffer(bytearray(blob), dtype=torch.float32 if y.is_floating_point() else torch.bool).view(y.shape)
               if y.numel() else torch.zeros(y.shape) for blob, y in zip(blobs[len(inputs):], own)]
    for side in (0, 1):
        changed = [_standing_out(leaf, [run[1:] for run in unread if run[0] == position], nature, side)
                   for position, (leaf, nature) in enumerate(zip(inputs, draws.natures))]
        try:
            answer = leaves(reference.forward(with_leaves(given, changed))[0])
        except TaskFault:
            continue
        if len(answer) == len(own) and any(_clearly_other(*of_leaf) for of_leaf in zip(answer, own, allowed)):
            return True
    return False


def _of_storage(blob, leaf):
    if not leaf.numel():
        return leaf
    return torch.frombuffer(bytearray(blob), dtype=leaf.dtype).as_strided(leaf.shape, leaf.stride())


def _standing_out(leaf, runs, nature, side):
    """With values above (side 0) or below all others, where the task's inputs may be."""
    if not runs:
        return leaf
    high, low = float(leaf.max()) + nature.deviation, float(leaf.min()) - nature.deviation
    if nature.probability:
        values = min(high, 1.0), max(low, 0.0)
    else:
        values = high if nature.high > 0 else min(high, 0.0), low if nature.low < 0 else max(low, 0.0)
    size = leaf.element_size()
    storage = leaf.as_strided((leaf.untyped_storage().nbytes() // size,), (1,)).clone()
    for begin, end in runs:
        storage[-(-begin // size):end // size] = values[side]
    return storage.as_strided(leaf.shape, leaf.stride())


def _clearly_other(answer, own, allowed):
    if answer.shape != own.shape:
        return False
    if not own.is_floating_point():
        return bool(((answer != own) & ~allowed).any())
    answer, own = answer.double(), own.double()
    return bool(((answer - own).abs() > CLEARLY * allowed + CLEARLY_RELATIVE * own.abs()).any())
