"""What a task's reference answers at its own size, and what a correct program may deviate by (oracle_profile.py): on a device, for
as many places of the first axis at a time as fit there. An axis is cut if smaller variants answer their parts alike.

The statistics of an element are of two test inputs of a kind. As on the inputs of get_costing_inputs(), allowances are
COSTING_SLACK times as wide and jitters few: a program that is compared here was compared at variants, or is made for this size
alone."""
import math

import torch

from oracle_effort import FEWEST_JITTERS
from oracle_pool import COSTING_SLACK
from oracle_profile import BANK_SPARE, JITTER, Jitter, LeafStatistics, Spread, allowance, center_of, own_error
from oracle_reference import Reference, agrees
from oracle_values import InvalidTask, leaves, readable, readable_leaves, same, with_leaves

SLICE_BYTES = 256 << 20  # of inputs and answer together
FEWEST_TO_CUT = 2
BANK = (1 << 26) + BANK_SPARE  # factors that serve every jitter of a slice, from another place on
PUBLISHED = 1e-2
COMPARED = 1 << 25  # elements at a time
WORST = 1e30
THOUSANDTH = 1000
ROOM = 1 - 2.0**-20


class DeviceJitter(Jitter):
    """With factors that are drawn where the tensor is."""

    def __init__(self, seed, device):
        super().__init__(seed)
        self.device_generator = torch.Generator(device=device).manual_seed(seed)
        self.device = device
        self.bank = None

    def factors(self, shape):
        count = math.prod(shape)
        most = min(BANK, count + BANK_SPARE) if self.device.type == "cpu" else BANK
        if count + BANK_SPARE > most:
            return self.fresh(count).view(shape)
        if self.bank is None or self.bank.numel() < count + BANK_SPARE:
            self.bank = self.fresh(most)
        start = self.offsets.randrange(BANK_SPARE)
        return self.bank[start:start + count].view(shape)

    def fresh(self, count):
        factors = torch.rand(count, generator=self.device_generator, dtype=torch.float64, device=self.device)
        return factors.mul_(2 * JITTER).add_(1 - JITTER)

    def tensor(self, x, wide, form=None):
        if not x.is_floating_point() or x.numel() == 0:
            return x.clone()
        factors = self.factors(x.shape)
        changed = readable(x) * (factors if wide else factors.to(readable(x).dtype))
        return changed if wide else changed.to(x.dtype)


class Shown:
    """What variants of a task show of its reference. cut: positions of the input leaves that are cut along their first axis with
    the answer, none if it cannot be cut; writes: forward changes its inputs."""

    def __init__(self, variants, init_seed):
        self.writes, cuts = False, []
        for variant in variants:
            reference = Reference(variant, init_seed)
            reference.find_arguments()
            reference.build()
            inputs = reference.inputs(0)
            returned, left = reference.forward(inputs)
            self.writes |= any(not torch.equal(torch.nan_to_num(readable(a)), torch.nan_to_num(readable(b)))
                               for a, b in zip(leaves(inputs), leaves(left)))
            cuts.append(cut_leaves(reference, inputs, readable_leaves(returned)))
        self.cut = cuts[0] if all(cut == cuts[0] for cut in cuts) else []


def cut_leaves(reference, inputs, whole):
    tensors = leaves(inputs)
    places = {y.shape[0] if y.dim() else 0 for y in whole}
    if len(places) != 1 or max(places) < FEWEST_TO_CUT:
        return []
    count = places.pop()
    candidates = [i for i, x in enumerate(tensors) if x.dim() and x.shape[0] == count]
    for cut in (candidates, candidates[:1]):
        if cut and answers_parts_alike(reference, inputs, whole, cut, count):
            return cut
    return []


def answers_parts_alike(reference, inputs, whole, cut, count):
    middle = max(1, count // 3)
    for begin, end in ((0, middle), (middle, count)):
        tensors = [x[begin:end] if i in cut else x for i, x in enumerate(leaves(inputs))]
        try:
            part = readable_leaves(reference.forward(with_leaves(inputs, tensors))[0])
        except InvalidTask:
            return False
        if not same(part, [y[begin:end] for y in whole]):
            return False
    return True


class Expected:
    """centers[test_input][leaf], allowed[test_input][leaf]: as oracle_pool.TestInput has them, whole."""

    def __init__(self, reference, sampler, cut, policy, device):
        self.reference, self.sampler, self.cut, self.policy = reference, sampler, cut, policy
        self.device = torch.device(device)
        self.jitter = DeviceJitter(sampler.seed(), self.device)
        self.has_exact = None
        self.centers, self.allowed = [[], []], [[], []]

    def compute(self, kept, others, concentrates):
        """`kept`: the two test inputs' leaves; `others`: of further plain ones. `concentrates`: the second is of that kind."""
        for begin, end, count in self.slices(kept[0]):
            def part(tensors):
                return tensors if count is None else [x[begin:end] if i in self.cut else x for i, x in enumerate(tensors)]

            first, second = part(kept[0]), part(kept[1])
            plain = [part(tensors) for tensors in others]
            statistics = self.add(0, first, plain, None, begin, count)
            if concentrates:
                plain = [self.concentrated(first)]
            self.add(1, second, plain, statistics if concentrates else None, begin, count)

    def concentrated(self, tensors):
        tensors = [x.clone() for x in tensors]
        self.sampler.concentrate(tensors)
        return tensors

    def slices(self, tensors):
        """(first place, place behind the last, places in all); one with None if nothing is cut."""
        if not self.cut:
            return [(0, None, None)]
        count = tensors[self.cut[0]].shape[0]
        size = sum(tensors[i].numel() * tensors[i].element_size() for i in self.cut)
        step = max(1, min(count, SLICE_BYTES * count // max(1, 2 * max(size, self.answer_bytes(tensors, count)))))
        return [(begin, min(begin + step, count), count) for begin in range(0, count, step)]

    def answer_bytes(self, tensors, count):
        """Of the whole, by the first place's."""
        one = self.own([x[:1] if i in self.cut else x for i, x in enumerate(tensors)])
        return count * sum(y.numel() * y.element_size() for y in one)

    def unseen_holes(self, kept):
        """Which floating inputs may lack the last thousandth of their longest axis that is not cut: the answers of the first
        slice stay correct, on either of the two test inputs `kept`."""
        unseen = [index for index, x in enumerate(kept[0]) if x.is_floating_point() and self.axes_to_leave_out(index, x)]
        for test_input, tensors in enumerate(kept):
            unseen = [index for index in unseen if not self.shows_hole(test_input, tensors, index)]
        return unseen

    def axes_to_leave_out(self, index, x):
        return [axis for axis in range(x.dim()) if x.shape[axis] > 1 and (axis or index not in self.cut)]

    def shows_hole(self, test_input, tensors, index):
        begin, end, count = self.slices(tensors)[0]
        part = [x if count is None or i not in self.cut else x[begin:end] for i, x in enumerate(tensors)]
        hole = part[index].clone()
        axis = max(self.axes_to_leave_out(index, tensors[index]), key=lambda a: hole.shape[a])
        width = max(1, hole.shape[axis] // THOUSANDTH)
        hole.narrow(axis, hole.shape[axis] - width, width).zero_()
        part[index] = hole
        wanted = zip(self.own(part), self.centers[test_input], self.allowed[test_input])
        return any(compare_leaf(y, want[:len(y)] if count else want, most[:len(y)] if count else most, whole=False)[0]
                   for y, want, most in wanted)

    def own(self, tensors):
        returned, _ = self.reference.forward(with_leaves(self.sampler.form, tensors))
        self.types = [y.dtype for y in leaves(returned)]
        return readable_leaves(returned)

    def exact(self, tensors, own, jitter=None):
        """Output leaves, floats as float64; without an fp64 run the own ones."""
        found = None
        if self.has_exact is not False:
            found = self.reference.exact(with_leaves(self.sampler.form, tensors), jitter)
            if self.has_exact is None:
                self.has_exact = agrees(own, found)
        elif jitter is not None:
            found = self.reference.own_with(with_leaves(self.sampler.form, tensors), jitter)
        if not self.has_exact and jitter is None:
            found = own
        if found is None or [y.shape for y in found] != [y.shape for y in own]:
            return None
        return [y.double() if x.is_floating_point() else x for x, y in zip(own, found)] if jitter is None else found

    def add(self, test_input, tensors, others, plain, begin, count):
        """One slice of a test input. Returns its statistics."""
        own = self.own(tensors)
        exact = self.exact(tensors, own) or [y.double() if y.is_floating_point() else y for y in own]
        spread = Spread(exact, own)
        for _ in range(FEWEST_JITTERS):
            moved = self.exact(tensors, own, self.jitter)
            if moved is not None:
                spread.add(moved)
            del moved
        statistics = [LeafStatistics() if y.is_floating_point() else None for y in own]
        for of_leaf, y, x in zip(statistics, exact, own):
            if of_leaf:
                of_leaf.add(y, own_error(x, y))
        for other in others:
            for of_leaf, y in zip(statistics, self.own(other)):
                if of_leaf:
                    of_leaf.add(y, None)
        for index, of_leaf in enumerate(statistics):
            if of_leaf:
                of_leaf.finish(plain[index] if plain else None)
        for index, moved in enumerate(spread.leaves()):
            allowed = self.allowance(statistics[index], exact[index], own[index], moved, self.types[index])
            self.store(self.centers[test_input], index, center_of(exact[index], own[index]), begin, count)
            self.store(self.allowed[test_input], index, allowed, begin, count)
        return statistics

    def allowance(self, statistics, exact, own, moved, dtype):
        if statistics is None:
            return moved
        if self.policy == "published":
            return exact.abs().add_(1).mul_(PUBLISHED).float()
        return allowance(statistics, exact, own, moved, tf32=self.policy == "tf32", dtype=dtype).mul_(COSTING_SLACK)

    def store(self, to, index, part, begin, count):
        if count is None:
            to.append(part.contiguous())
            return
        if index == len(to):
            to.append(torch.empty((count, *part.shape[1:]), dtype=part.dtype, device=part.device))
        to[index][begin:begin + part.shape[0]] = part

    def compare(self, test_input, outputs, whole=True):
        """Of each leaf (fault class or "", largest error over what is allowed): the rules of sandbox/verifier/judge.cpp. Not `whole`:
        only whether there is a class, which the first wrong element shows."""
        expected = zip(outputs, self.centers[test_input], self.allowed[test_input])
        return [compare_leaf(got, want, allowed, whole) for got, want, allowed in expected]


def compare_leaf(got, want, allowed, whole=True):
    pieces = list(zip(got.contiguous().view(-1).split(COMPARED), want.view(-1).split(COMPARED), allowed.view(-1).split(COMPARED)))
    if not whole:  # most are wrong from the beginning on
        found = compare_pieces(pieces[:1], whole)
        if found[0]:
            return found
    return compare_pieces(pieces, whole)


def compare_pieces(pieces, whole):
    if not pieces[0][0].is_floating_point():
        return ("wrong_value", WORST) if any(bool(((x != center) & ~most).any()) for x, center, most in pieces) else ("", 0.0)
    worst, non_finite = 0.0, False
    for number, ratio in enumerate(ratios_of(pieces)):
        # A NaN is within no room: that piece has what is not finite, or what nothing is allowed for.
        if not ratio <= ROOM and not 1 / ROOM <= ratio < math.inf:
            x, center, most = pieces[number]
            ratio, non_finite = compare_in_doubles(readable(x).double(), center.double(), most.double())
        worst = max(worst, ratio)
        if non_finite or (worst > 1 and not whole):
            break
    return "non_finite" if non_finite else "wrong_value" if worst > 1 else "", WORST if non_finite else worst


def ratios_of(pieces):
    """The largest error over what is allowed in each piece, as float32 has it; NaN where that says nothing."""
    if not pieces or pieces[0][0].dtype != torch.float32:
        return [math.nan] * len(pieces)
    # The device is waited for once.
    ends = [torch.stack(torch.aminmax((x - center).div_(most))) for x, center, most in pieces if x.numel()]
    return [max(high, -low) if low == low else math.nan for low, high in torch.stack(ends).tolist()] if ends else []


def compare_in_doubles(got, want, allowed):
    """The largest ratio, and whether something is not finite that should be."""
    counts = ~((got == want) | (torch.isnan(got) & torch.isnan(want)) | torch.isinf(allowed))
    finite = torch.isfinite(want)
    both = finite & torch.isfinite(got)
    ratio = torch.where(both, (got - want).abs() / allowed, WORST).nan_to_num_(WORST, WORST).clamp_(max=WORST)
    ratio = torch.where(counts, ratio, 0.0)
    return float(ratio.max()) if ratio.numel() else 0.0, bool((counts & finite & ~both).any())
