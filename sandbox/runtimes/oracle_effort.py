"""How much of the reference is run: everything if it is fast, less of what only sharpens the statistics if it is slow.
Every verification holds a draw of each kind either way. Times are of the processor, not of a busy machine's clock."""
import math

STATISTIC_DRAWS = 4  # of each kind, for S_i and V_i
FEWEST_STATISTIC_DRAWS = 2
JITTERS = 8
FEWEST_JITTERS = 2
MORE_JITTERS = 24  # where answers are chaotic
FIRST_ROUND_SECONDS = 0.5  # of each kind
ALL_ROUNDS_SECONDS = 0.75
SLOW_SECONDS = 1.0  # a run that takes longer is not made for statistics more often than it must
ELEMENT_SECONDS = 4e-9  # of input and output: what the statistics of a run cost beside it


class Effort:
    """`kinds`: how many there are of draws. `most_jitters`: of each draw. `own_s`, `exact_s`: processor seconds of one run of
    the reference, in its own type and in fp64. `elements`: of a draw's inputs and outputs."""

    def __init__(self, kinds, most_jitters, own_s, exact_s, elements, draw_bytes, least_draws, most_draws, pool_bytes):
        least = max(1, math.ceil(least_draws / kinds))
        most = max(least, math.ceil(most_draws / kinds))
        exact_s += ELEMENT_SECONDS * elements
        own_s += ELEMENT_SECONDS * elements
        self.statistic_draws = STATISTIC_DRAWS if own_s < SLOW_SECONDS else FEWEST_STATISTIC_DRAWS
        # Draws that are not kept run in fp64 as well, if there is time.
        first_round_s, all_rounds_s = FIRST_ROUND_SECONDS * kinds, ALL_ROUNDS_SECONDS * kinds
        statistics_s = kinds * self.statistic_draws * (own_s + exact_s)
        self.exact_statistics = statistics_s + kinds * most_jitters * exact_s <= first_round_s
        if not self.exact_statistics:
            statistics_s = kinds * (self.statistic_draws * own_s + exact_s)
        left_s = first_round_s - statistics_s
        self.jitters = min(most_jitters, max(FEWEST_JITTERS, int(left_s / (kinds * exact_s))))
        # Draws of each kind that verifications get.
        round_s = kinds * (self.jitters + 1) * exact_s
        rounds = 1 + max(0, int((all_rounds_s - statistics_s - round_s) / round_s))
        fits = pool_bytes // max(1, kinds * draw_bytes)
        self.kept = max(least, min(most, fits, rounds))
        self.statistic_draws = max(self.statistic_draws, self.kept)
