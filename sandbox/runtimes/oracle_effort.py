"""How much of the reference is run: everything if it is fast, less of what only sharpens the statistics if it is slow.
Every verification holds a test input of each kind either way. Times are of the processor, not of a busy machine's clock."""
import math

STATISTIC_SAMPLES = 4  # of each kind, for S_i and V_i
FEWEST_STATISTIC_SAMPLES = 2
JITTERS = 8
FEWEST_JITTERS = 2
MORE_JITTERS = 24  # where answers are chaotic
FIRST_ROUND_SECONDS = 0.5  # of each kind
ALL_ROUNDS_SECONDS = 0.75
SLOW_SECONDS = 1.0  # a run that takes longer is not made for statistics more often than it must
ELEMENT_SECONDS = 4e-9  # of input and output: what the statistics of a run cost beside it


class Effort:
    """`kinds`: how many there are of test inputs. `most_jitters`: of each. `own_s`, `exact_s`: processor seconds of one run of
    the reference, in its own type and in fp64. `elements`, `sample_bytes`: of one test input and its outputs."""

    def __init__(self, kinds, most_jitters, own_s, exact_s, elements, sample_bytes, least_inputs, most_inputs, pool_bytes):
        least = max(1, math.ceil(least_inputs / kinds))
        most = max(least, math.ceil(most_inputs / kinds))
        exact_s += ELEMENT_SECONDS * elements
        own_s += ELEMENT_SECONDS * elements
        self.statistic_samples = STATISTIC_SAMPLES if own_s < SLOW_SECONDS else FEWEST_STATISTIC_SAMPLES
        # Test inputs that are not kept run in fp64 as well, if there is time.
        first_round_s, all_rounds_s = FIRST_ROUND_SECONDS * kinds, ALL_ROUNDS_SECONDS * kinds
        statistics_s = kinds * self.statistic_samples * (own_s + exact_s)
        self.exact_statistics = statistics_s + kinds * most_jitters * exact_s <= first_round_s
        if not self.exact_statistics:
            statistics_s = kinds * (self.statistic_samples * own_s + exact_s)
        left_s = first_round_s - statistics_s
        self.jitters = min(most_jitters, max(FEWEST_JITTERS, int(left_s / (kinds * exact_s))))
        # Test inputs of each kind that verifications get.
        round_s = kinds * (self.jitters + 1) * exact_s
        rounds = 1 + max(0, int((all_rounds_s - statistics_s - round_s) / round_s))
        fits = pool_bytes // max(1, kinds * sample_bytes)
        self.kept = max(least, min(most, fits, rounds))
        self.statistic_samples = max(self.statistic_samples, self.kept)
