"""Pairs of operators that may undo each other around others, as a flip and a flip do around pointwise work."""

MOST_PAIRS = 100


def pairs_of(operators, calls):
    """(earlier calls, later calls, whether they change the shape), the likeliest MOST_PAIRS of them: of one kind, or near each
    other. `calls`: tuples of numbers, of one place of the code each."""
    found = []
    for i, earlier in enumerate(calls):
        if not (operators[earlier[0]].tainted and operators[earlier[0]].is_work):
            continue
        for later in calls[i + 1:]:
            one, other = operators[earlier[0]], operators[later[0]]
            if one.site == other.site or not other.ancestors >> earlier[0] & 1:
                continue
            changes_shape = restores_shape(operators, earlier, later)
            if changes_shape or (keeps_shape(one) and keeps_shape(other) and other.is_work):
                found.append((not changes_shape, one.name != other.name, later[0] - earlier[0], earlier, later))
    found.sort(key=lambda pair: pair[:3])
    return [(earlier, later, not keeps) for keeps, _, _, earlier, later in found[:MOST_PAIRS]]


def keeps_shape(op):
    return 0 in op.candidates


def restores_shape(operators, earlier, later):
    """Does one add to axes, as padding does, what the other takes away, as slices do?"""
    added, taken = growth(operators, earlier), growth(operators, later)
    return any(added) and min(added) >= 0 and taken == [-n for n in added]


def growth(operators, numbers):
    first, last = operators[numbers[0]], operators[numbers[-1]]
    if first.taken is None or not last.outputs or len(first.taken) != last.outputs[0].dim():
        return []
    return [after - before for before, after in zip(first.taken, last.outputs[0].shape)]
