#!/usr/bin/env python3
"""How long ranks generate a step, by simulation: responses dealt out by groups, or taken from one queue over all ranks.

    bench/many_gpus/generation_schedule.py [--ranks 4] [--tasks 64] [--samples 8] [--steps 20] [--policy 1.7b]

Lengths and denoise steps are drawn as a bench of whole steps draws them (docs/decisions/0134). A rank has up to max_active sequences at
work, each of which takes one denoise step in a forward; a forward takes as long as its number of sequences says. Two bounds: all ranks
always full, and the longest response alone on a rank. "of the bound" compares the seconds of the larger of them with the simulated ones,
which is tokens/s against the smaller rate.

With --update-seconds U it bounds what training beside generation could save: the seconds in which a first minibatch is complete, all of its
groups being so, while some rank still generates. Updates after the first need the weights that it makes, and responses of one step are of one
version, so that no more than U / updates a step can be hidden. Minibatches are a random deal of the step (packing/minibatch.cpp), or take
groups as they are complete.
"""
import argparse
import heapq
import random

# Milliseconds of a forward by sequences: bench/decode.md, bench/whole_step.md, bench/archive/decode.md (one sequence). The first of 8B is
# the time in which its weights are read once.
FORWARD_MS = {"1.7b": [(1, 2.3), (29, 4.8), (128, 5.7), (256, 10.0)], "8b": [(1, 6.7), (64, 10.9), (128, 18.5), (256, 35.3)]}


def forward_ms(points, sequences):
    for (left, ms), (right, more) in zip(points, points[1:]):
        if sequences <= right:
            return ms + (more - ms) * max(0, sequences - left) / (right - left)
    (left, ms), (right, more) = points[-2:]
    return more + (more - ms) / (right - left) * (sequences - right)


def drawn_response(draws, limit=4096, median=1000, spread=0.7, steps=2, block=4):
    """Tokens and forwards."""
    tokens = max(1, min(limit, round(median * draws.lognormvariate(0, spread))))
    blocks = -(-tokens // block)
    more = (steps - 1) / (block - 1)
    return tokens, blocks + sum(draws.random() < more for _ in range(blocks * (block - 1)))


def generation(queues, ranks, max_active, points):
    """Milliseconds and forwards of each rank, and the millisecond in which each group ends. Queues hold forwards and group of responses. One
    queue: whoever has room takes the next response of it. Several: each rank has its own."""
    queues = [list(reversed(queue)) for queue in queues]
    queue_of = [queues[rank % len(queues)] for rank in range(ranks)]
    active, now_ms, forwards, ends = [[] for _ in range(ranks)], [0.0] * ranks, [0] * ranks, {}
    for _ in range(max_active):  # at the start in turn, so that no rank takes all
        for rank in range(ranks):
            if queue_of[rank]:
                heapq.heappush(active[rank], queue_of[rank].pop())
    waiting = [(0.0, rank) for rank in range(ranks)]
    while waiting:
        _, rank = heapq.heappop(waiting)
        while queue_of[rank] and len(active[rank]) < max_active:
            more, group = queue_of[rank].pop()
            heapq.heappush(active[rank], (forwards[rank] + more, group))
        if not active[rank]:
            continue
        end = active[rank][0][0]
        now_ms[rank] += (end - forwards[rank]) * forward_ms(points, len(active[rank]))
        forwards[rank] = end
        while active[rank] and active[rank][0][0] == end:
            _, group = heapq.heappop(active[rank])
            ends[group] = max(ends.get(group, 0.0), now_ms[rank])
        heapq.heappush(waiting, (now_ms[rank], rank))
    return now_ms, forwards, ends


def first_minibatch(ends, samples, responses, draws):
    """The milliseconds in which a first minibatch is complete: of a random deal of responses, and of groups as they end."""
    step = [group for group in ends for _ in range(samples)]
    dealt = max(ends[group] for group in draws.sample(step, responses))
    return dealt, sorted(ends.values())[-(-responses // samples) - 1]


def print_bounds(options, rows):
    updates = -(-options.tasks * options.samples // options.responses_per_update)
    most = options.update_seconds / updates
    print(f"\nUpdates of {options.responses_per_update} responses, {updates} a step in {options.update_seconds} s: at most {most:.1f} s can be hidden\n")
    print("| max_active | generation, s | first minibatch complete: random deal, s | hides at most, s | of the step "
          "| as groups end, s | hides at most, s | of the step |\n|---|---|---|---|---|---|---|---|")
    for max_active, generated, dealt, early in rows:
        step = generated + options.update_seconds
        cells = []
        for ready in (dealt, early):
            hidden = min(most, generated - ready)
            cells.append(f"{ready:.1f} | {hidden:.2f} | {100 * hidden / step:.1f} %")
        print(f"| {max_active} | {generated:.1f} | {' | '.join(cells)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--tasks", type=int, default=64)
    parser.add_argument("--samples", type=int, default=8)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--policy", choices=sorted(FORWARD_MS), default="1.7b")
    parser.add_argument("--max-active", type=int, nargs="*", default=[20, 32, 48, 64, 96, 128])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--update-seconds", type=float, help="of all updates of a step")
    parser.add_argument("--responses-per-update", type=int, default=64)
    options = parser.parse_args()
    points = FORWARD_MS[options.policy]
    print("| max_active | forwards, slowest rank | seconds | bound: all full | bound: longest alone | of the bound | one queue: seconds | of the bound |")
    print("|---|---|---|---|---|---|---|---|")
    bounds = []
    for max_active in options.max_active:
        draws, sums, deals = random.Random(options.seed), [0.0] * 8, random.Random(options.seed)
        for _ in range(options.steps):
            groups = [[drawn_response(draws) for _ in range(options.samples)] for _ in range(options.tasks)]
            forwards = [[(response[1], index) for response in group] for index, group in enumerate(groups)]
            dealt = [[f for group in forwards[rank :: options.ranks] for f in group] for rank in range(options.ranks)]
            everything = [f for group in forwards for f in group]
            counts = [count for count, _ in everything]
            of_ranks, counted, ends = generation(dealt, options.ranks, max_active, points)
            together, _, _ = generation([everything], options.ranks, max_active, points)
            full = sum(counts) / options.ranks / max_active * forward_ms(points, max_active)
            longest = max(counts) * forward_ms(points, 1)
            ready = first_minibatch(ends, options.samples, options.responses_per_update, deals)
            found = (max(counted), max(of_ranks), full, longest, max(together), max(full, longest), *ready)
            sums = [total + value / options.steps for total, value in zip(sums, found)]
        slowest, dealt_ms, full, longest, queue_ms, bound, deal_ms, early_ms = sums
        bounds.append((max_active, dealt_ms / 1e3, deal_ms / 1e3, early_ms / 1e3))
        print(f"| {max_active} | {slowest:,.0f} | {dealt_ms / 1e3:.1f} | {full / 1e3:.1f} | {longest / 1e3:.1f} | {100 * bound / dealt_ms:.0f} % "
              f"| {queue_ms / 1e3:.1f} | {100 * bound / queue_ms:.0f} % |")
    if options.update_seconds:
        print_bounds(options, bounds)


if __name__ == "__main__":
    main()
