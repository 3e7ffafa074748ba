"""Where the largest and the smallest element of a slice stand. Of thousands of elements they are hardly ever the last, so a
program that leaves out a tail of what it searches would be right on most test inputs: they are exchanged with the elements at
chosen places, which leaves a slice's elements what they are. And where the index of the first of several equals is exact
for everybody, both come again further on, in places that a lower lane of a warp or a lower thread of a block looks at:
who compares by value alone takes one of those."""
import torch

NEAR_END = 32
GROUPS = (32, 256)  # threads of a warp and of a usual block, which take the elements in turn
PLACES = 4  # last, anywhere, near the end, first


def _integers(generator, least, beyond):
    """Uniform in [least, beyond), for tensors of bounds; `least` where that is empty."""
    width = (beyond - least).clamp(min=1)
    return least + (torch.rand(width.shape, generator=generator, dtype=torch.float64) * width).long().clamp(max=width - 1)


class Places:
    """Of one leaf of the inputs. slices: how it is cut, of more than one element each."""

    def __init__(self, slices):
        self.slices = slices

    def apply(self, x, generator, lowest_first, with_twins):
        """`x` with its extremes moved, and which slices hold twins, as booleans that broadcast to it; or None for none.
        `lowest_first`: where slices are few, the smallest element gets the last place in place of the largest."""
        rows = self.slices.cut(x).clone()
        count, length = rows.shape
        kinds = torch.randperm(count, generator=generator) % PLACES
        kinds[kinds.argmin()] = kinds[-1].clone()
        kinds[-1] = 0  # what is left over at the end of everything is in the last slice's tail
        first, second = (self._place(kind, length, generator) for kind in (kinds, (kinds + 1) % PLACES))
        high, low = (second, first) if lowest_first else (first, second)
        twins = torch.zeros(count, dtype=torch.bool)
        if with_twins and length > 2:
            twins = (torch.randperm(count, generator=generator) + torch.randint(0, 2, (1,), generator=generator)) % 2 == 0
            twins[-1] &= count == 1
            high, low = (torch.where(twins, self._early(count, length, generator), place) for place in (high, low))
        low = torch.where(low == high, (low + 1) % length, low)
        each = torch.arange(count)
        self._exchange(rows, each, rows.argmax(1), high)
        self._exchange(rows, each, rows.argmin(1), low)
        for place in (high, low):
            self._repeat(rows, each[twins], place[twins], (high[twins], low[twins]), generator)
        return self.slices.joined(rows), self.slices.spread_rows(twins) if bool(twins.any()) else None

    @staticmethod
    def _place(kinds, length, generator):
        none = torch.zeros_like(kinds)
        near = length - 1 - _integers(generator, none + 1, none + 1 + min(NEAR_END, length - 1))
        anywhere = _integers(generator, none, none + length)
        return torch.stack((none + length - 1, anywhere, near, none)).gather(0, kinds.unsqueeze(0)).squeeze(0)

    @staticmethod
    def _early(count, length, generator):
        """Places with others behind them, in a group of threads behind the first where there is one."""
        none = torch.zeros(count, dtype=torch.long)
        beyond = next((length - group for group in reversed(GROUPS) if length >= 2 * group), length - 1)
        return _integers(generator, none, none + max(beyond, 1))

    @staticmethod
    def _exchange(rows, each, a, b):
        rows[each, a], rows[each, b] = rows[each, b], rows[each, a]

    @staticmethod
    def _repeat(rows, each, place, taken, generator):
        """The element at `place` of each row again: behind it, where the next group of threads has a lower one."""
        length = rows.shape[1]
        for group in GROUPS:
            next_group = (place // group + 1) * group
            behind = _integers(generator, next_group, next_group + place % group)
            if length < 2 * GROUPS[0]:
                behind = _integers(generator, place + 1, torch.full_like(place, length))
            free = (behind < length) & (behind > place) & (behind != taken[0]) & (behind != taken[1])
            rows[each[free], behind[free]] = rows[each[free], place[free]]
