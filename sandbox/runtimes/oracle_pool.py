"""The pool of a task: test inputs of several kinds, each with the reference's answer in fp64 and its allowance."""
import random
import time

import torch

import oracle_checks as checks
from oracle_test_inputs import KINDS, VARIANTS, VARIANTS_OF_INDICES, TestInputs
from oracle_effort import FEWEST_JITTERS, JITTERS, MORE_JITTERS, Effort
from oracle_literals import choose_methods
from oracle_patterns import EXTREME, TIES, change_one_place, stays_apart
from oracle_profile import Jitter, LeafStatistics, Spread, allowance, center_of, own_error
from oracle_reference import agrees
from oracle_unread import are_long
from oracle_values import InvalidTask, leaves, raw, readable, readable_leaves, same, span_bytes, with_leaves

SAMPLES_OF_A_TURN = 3  # for S_i and V_i
ENOUGH_SLICES = 256
SLOW_SECONDS = 0.1  # a reference that takes longer is not run to see how its inputs may be cut and dealt
# Where programs are costed, what is right was settled on smaller inputs; among millions of elements the largest error of
# an honest sum is several times what it is among thousands.
COSTING_SLACK = 4
FEW_OUTPUTS = 16  # which may be equal on all test inputs by chance, and
CHANCES = 12  # test inputs that show it
NATURAL = "negative"
ENOUGH_FINITE = 0.5  # of what is finite on plain test inputs
NEARLY = 0.9
NOT_FINITE = "not finite"  # plain test inputs, but the finite ones
MANY_TRIES, NOT_FINITE_SECONDS = 96, 0.1  # to find one
TRIES = 3  # for a test input on which the reference is finite, or its integers stay


def elements_of(tensors):
    return sum(x.numel() for x in tensors)


class Sample:
    """A set of inputs and what the reference answers to it, in its own types (readable ones; types: what they are)."""

    def __init__(self, inputs, returned, jitters=None):
        self.inputs, self.returned = inputs, returned
        self.jitters = jitters  # the form of each input leaf's, or None
        self.types = [leaf.dtype for leaf in leaves(returned)]
        self.own = readable_leaves(returned)
        self.finite = checks.finite_share(self.own)


class TestInput:
    """A sample that verifications get. statistics: of test inputs like this one, for each output leaf or None for integers;
    exact: output leaves in float64 (integers as they are); spread: under jitters; allowed: float32 or, for integers, a mask
    of those that may differ."""

    def __init__(self, sample, exact, spread, statistics):
        self.statistics = statistics
        self.sample, self.returned, self.own = sample, sample.returned, sample.own
        self.leaves, self.types = leaves(sample.inputs), sample.types
        self.exact, self.spread = exact, spread
        self.allowed, self.allowed_tf32 = [], []

    def blobs(self):
        found = [raw(x) for x in self.leaves]
        for index, (own, exact) in enumerate(zip(self.own, self.exact)):
            found.append(raw(center_of(exact, own)))
            found += [raw(policy[index].contiguous()) for policy in (self.allowed, self.allowed_tf32) if policy]
        return found


class Last:
    """The test input of a kind that was made last, kept or not."""

    def __init__(self, sample, exact):
        self.sample, self.exact = sample, exact


class Kind:
    """Test inputs of one kind. turns: statistics of those that are dealt alike, for each output leaf, None for integers."""

    def __init__(self, name, turns):
        self.name = name
        self.kept, self.last = [], None
        self.turns = [[] for _ in range(turns)]

    @property
    def statistics(self):
        return self.turns[0]


class Pool:
    def __init__(self, reference, request):
        self.reference = reference
        self.tf32 = request["tf32"]
        self.request = request
        secret = random.Random(request["secret"])
        self.test_inputs = TestInputs(reference.inputs, secret.getrandbits(128))
        self.jitter = Jitter(secret.getrandbits(31))
        # Where a size is costed one test input is counted, which is plain, and another judged besides.
        self.kinds = ("plain", secret.choice(KINDS[1:])) if reference.costing else KINDS

    def first_look(self):
        """Runs the reference once more than needed: is it the same twice, does it write to its inputs, how long does it
        take, does it run in fp64?"""
        self.plain = None  # statistics of the plain test inputs, which come first
        self.shapes = None  # of the output leaves, which inputs drawn by a method that was given up may have had otherwise
        self.finite, self.variants, self.turns = 1.0, VARIANTS, 1
        if self.test_inputs.natures is None:
            self.test_inputs.plain()
        choose_methods(self.test_inputs.natures, self.answered)
        _, sample = self.variant_of("plain")
        if not sample.own:
            raise InvalidTask("raises", "forward() returns no tensor")
        self.reference.check_output_bytes(sample.own, self.request["max_output_bytes"])
        self.decisions, again, left = self.reference.decisions(sample.inputs)
        self.reference.check_work(self.request["most_lane_operations"])
        if not same(sample.returned, again):
            raise InvalidTask("random", "the reference is not deterministic: two runs on equal inputs differ")
        self.written = [not torch.equal(torch.nan_to_num(a), torch.nan_to_num(b))
                        for a, b in zip(readable_leaves(sample.inputs), readable_leaves(left))]
        begin = time.thread_time()
        self.has_exact = agrees(sample.own, self.reference.exact(sample.inputs))
        exact_s = time.thread_time() - begin
        self.finite = sample.finite
        self.first = sample
        self.variants = VARIANTS if all(x.is_floating_point() for x in sample.own) else VARIANTS_OF_INDICES
        size = sum(span_bytes(x) for x in leaves(sample.inputs)) + sum(
            x.numel() * (8 if x.is_floating_point() else 1 + x.element_size()) for x in sample.own)
        elements = elements_of((*sample.own, *leaves(sample.inputs)))
        # More would show less than the slack makes up for.
        most_jitters = FEWEST_JITTERS if self.reference.costing else JITTERS
        self.effort = Effort(len(self.kinds), most_jitters, self.reference.cpu_s, exact_s, elements, size,
                             self.request["least_inputs"], self.request["most_inputs"], self.request["pool_bytes"])
        self.patterns_finite = self.finite  # of structured test inputs
        self.sometimes = elements_of(sample.own) <= FEW_OUTPUTS and self.sample(NOT_FINITE, 0.0).finite < self.finite
        self.test_inputs.cut([self.separable_axes(position) for position in range(len(self.test_inputs.natures))])

    def answered(self, variant):
        inputs, _ = self.test_inputs.make(variant)
        return Sample(inputs, self.reference.forward(inputs)[0])

    def sample(self, variant, finite, turn=0, tries=TRIES):
        """A test input on which at least `finite` of the answer is finite, or of a few the one with most."""
        if variant == NOT_FINITE:
            many = min(MANY_TRIES, 1 + int(NOT_FINITE_SECONDS / max(self.reference.cpu_s, 1e-9)))
            samples = (self.sample("plain", 0.0, tries=1) for _ in range(many))
            return next((sample for sample in samples if sample.finite < self.finite), self.first)
        best = None
        for _ in range(tries):
            # Plain test inputs come before it is known what the reference decides.
            known = () if variant in ("plain", "as_given") else (self.holds_ties(), self.takes_indices())
            inputs, jitters = self.test_inputs.make(variant, turn, *known)
            sample = Sample(inputs, self.reference.forward(inputs)[0], jitters)
            self.check_shapes(sample)
            if best is None or sample.finite > best.finite:
                best = sample
            if best.finite >= finite:
                break
        return best

    def check_shapes(self, sample):
        shapes = [(x.shape, dtype) for x, dtype in zip(sample.own, sample.types)]
        self.shapes = self.shapes or shapes
        if shapes != self.shapes:
            raise InvalidTask("data_dependent", "the shape of its answer depends on the values of its inputs")

    def kind(self, name):
        variant, sample = self.variant_of(name)
        turns = min(self.turns, self.effort.kept) if variant == "patterns" else 1
        kind = Kind(name, turns)
        samples = self.effort.statistic_samples if turns == 1 else max(self.effort.statistic_samples, turns * SAMPLES_OF_A_TURN)
        for number in range(samples):
            turn = number % turns
            sample = sample or self.sample(variant, self.needed(variant), turn)
            keep = number < self.effort.kept
            if keep:
                test_input = self.test_input(sample, variant, turn, kind.turns[turn])
                sample, exact = test_input.sample, test_input.exact
                kind.kept.append(test_input)
            else:
                exact = self.exact(sample) if self.effort.exact_statistics else sample.own
            self.add(kind, turn, sample, exact, keep or self.effort.exact_statistics)
            sample = None
        if not self.plain:
            self.plain = kind.statistics
        for of_turn in kind.turns:
            for statistics, plain in zip(of_turn, self.plain):
                if statistics:
                    statistics.finish(plain if plain is not statistics else None)
        for test_input in kind.kept:
            for own, exact, spread, leaf, dtype in zip(test_input.own, test_input.exact, test_input.spread,
                                                       test_input.statistics, test_input.types):
                test_input.allowed.append(self.allowed(leaf, exact, own, spread, dtype) if leaf else spread)
                if self.tf32:
                    test_input.allowed_tf32.append(self.allowed(leaf, exact, own, spread, dtype, tf32=True) if leaf else spread)
        return kind

    def allowed(self, *of_leaf, tf32=False):
        *statistics, dtype = of_leaf
        found = allowance(*statistics, tf32=tf32, dtype=dtype)
        return found.mul_(COSTING_SLACK) if self.reference.costing else found

    def variant_of(self, name):
        """The strictest variant on which the reference runs and stays as finite as on plain test inputs. If plain ones of a few
        answers are sometimes finite and sometimes not, one kind is of those where they are not."""
        if name == "shifted" and self.sometimes:
            return NOT_FINITE, self.sample(NOT_FINITE, 0.0)
        for variant in self.variants[name]:
            if variant == "patterns" and not self.deal_patterns():
                continue
            try:
                sample = self.sample(variant, self.needed(variant))
            except InvalidTask:
                if variant == "as_given":
                    raise
                continue
            if sample.finite >= self.needed(variant) or variant in ("plain", "as_given"):
                return variant, sample

    def needed(self, variant):
        """The least share of the answer that is to be finite."""
        return self.patterns_finite if variant == "patterns" else self.finite

    def deal_patterns(self):
        """Deals each slice of the inputs a pattern on which the reference stays as finite as on plain test inputs. False if there
        is nothing to deal."""
        floating = all(x.is_floating_point() for x in self.first.own)
        excluded = set() if floating or self.decisions.direct else set(TIES)
        if not any(self.test_inputs.slices):
            return False
        self.turns = self.test_inputs.deal(excluded)
        if self.stays_finite():
            return True
        if self.reference.cpu_s > SLOW_SECONDS:
            excluded |= EXTREME
        else:
            for pattern in sorted(self.test_inputs.patterns() - excluded - {"tiles"}):
                self.test_inputs.deal(excluded, pattern)
                if not self.stays_finite():
                    excluded.add(pattern)
            if NATURAL in excluded and self.deals_natural(excluded - {NATURAL}):
                return True
        self.turns = self.test_inputs.deal(excluded)
        return True

    def deals_natural(self, excluded):
        """Deals the pattern that plain test inputs might hold as well, though the reference is not finite there, as what is not a
        number has to be none in a program's answer, too. Only if enough is left."""
        self.turns = self.test_inputs.deal(excluded)
        try:
            least = min(self.sample("patterns", 1.0, turn, tries=1).finite for turn in range(self.turns))
        except InvalidTask:
            return False
        if least < ENOUGH_FINITE * self.finite:
            return False
        self.patterns_finite = min(self.finite, NEARLY * least)
        return True

    def holds_ties(self):
        """Are equal elements, and those that equal a buffer, equal for every correct program?"""
        return self.decisions.some and self.decisions.direct

    def is_chance(self, leaves_of_answer):
        """Of output leaves that are equal on all test inputs: does one of few values, or of integers, change on others?"""
        own = self.first.own
        watched = [index for index in leaves_of_answer if not own[index].is_floating_point() or own[index].numel() <= FEW_OUTPUTS]
        for number in range(CHANCES if watched else 0):
            other = self.sample("plain", 0.0, tries=1).own
            if any(not torch.allclose(own[index].double(), other[index].double(), rtol=1e-3, equal_nan=True) for index in watched):
                return True
        return False

    def takes_indices(self):
        """Which of equal elements it takes shows in its answers, and is the same for every correct program."""
        return self.holds_ties() and any(not x.is_floating_point() for x in self.first.own)

    def stays_finite(self):
        try:
            return all(self.sample("patterns", self.finite, turn, tries=1).finite >= self.finite
                       for turn in range(self.turns))
        except InvalidTask:
            return False

    def separable_axes(self, position):
        """Of an input leaf: see oracle_patterns.py. Found by changing one place along an axis, which takes a run."""
        nature, leaf = self.test_inputs.natures[position], leaves(self.first.inputs)[position]
        if not nature.changes:
            return []
        found, rows, tensors = [], 1, leaves(self.first.inputs)
        for axis, places in enumerate(leaf.shape):
            if places == 1 or rows >= ENOUGH_SLICES:
                continue
            if self.reference.cpu_s > SLOW_SECONDS:
                return [axis]
            apart = None
            for changed in change_one_place(leaf, axis, nature.deviation, nature.probability, self.test_inputs.generator):
                try:
                    answer = readable_leaves(self.reference.forward(
                        with_leaves(self.first.inputs, [*tensors[:position], changed, *tensors[position + 1:]]))[0])
                except InvalidTask:
                    break
                apart = len(answer) == len(self.first.own) and stays_apart(self.first.own, answer, places)
                if apart is not None:
                    break
            if apart:
                found.append(axis)
                rows *= places
        return found

    def run(self, sample, jitter=None, wide=True):
        """Output leaves of another run on a sample's inputs, or None if there is none with the same shapes."""
        if wide and not self.has_exact:
            return None
        compute = self.reference.exact if wide else self.reference.own_with
        found = compute(sample.inputs, jitter, sample.jitters, sample.jitters is None or not self.holds_ties())
        same_shapes = found is not None and [x.shape for x in found] == [x.shape for x in sample.own]
        return found if same_shapes else None

    def exact(self, sample):
        """Output leaves, floats as float64. What does not run in fp64 is its own measure."""
        found = self.run(sample)
        if found is None:
            found = sample.own
        return [y.double() if own.is_floating_point() else own for y, own in zip(found, sample.own)]

    def test_input(self, sample, variant, turn, statistics):
        for tries in range(TRIES):
            exact = self.run(sample)
            wide = exact is not None
            exact = exact if wide else sample.own
            spread = Spread(exact, sample.own)
            for number in range(self.effort.jitters + MORE_JITTERS):
                if number == self.effort.jitters and not spread.is_chaotic():
                    break
                moved = self.run(sample, self.jitter, wide)
                if moved is not None:
                    spread.add(moved)
            if checks.changing_share(spread.moved) <= checks.CHANGING_SHARE or tries == TRIES - 1:
                break
            sample = self.sample(variant, self.needed(variant), turn)
        exact = [y.double() if own.is_floating_point() else own for y, own in zip(exact, sample.own)]
        return TestInput(sample, exact, spread.leaves(), statistics)

    @staticmethod
    def add(kind, turn, sample, exact, exact_known):
        of_turn = kind.turns[turn]
        if not of_turn:
            of_turn += [LeafStatistics() if x.is_floating_point() else None for x in sample.own]
        kind.last = Last(sample, exact)
        for statistics, own, y in zip(of_turn, sample.own, exact):
            if statistics:
                statistics.add(y, own_error(own, y) if exact_known else None)

    def long_inputs(self):
        """Of each input leaf: it is of few long slices, of which test inputs show few places."""
        return [are_long(places) for places in self.test_inputs.places]

    def depends(self, kind, position):
        """Does the first answer change if this input leaf is exchanged for another test input's? None if that is the same."""
        sample = kind.kept[0].sample
        ours, theirs = leaves(sample.inputs), leaves(kind.last.sample.inputs)
        if torch.equal(readable(ours[position]), readable(theirs[position])):
            return None
        mixed = with_leaves(sample.inputs, [*ours[:position], theirs[position], *ours[position + 1:]])
        try:
            returned = readable_leaves(self.reference.forward(mixed)[0])
        except InvalidTask:
            return True
        return any(not torch.equal(torch.nan_to_num(a), torch.nan_to_num(b)) for a, b in zip(returned, sample.own))
