"""How much of the gradient of a smoothed expected reward no score sees: the boundary term of decision 0131.

    python3 bench/gradients/acceptance_boundary.py [--samples 20000] [--policies 8] [--rules dynamic,static,entropy_bounded]

Enumerates small random policies (a table of logits per context of a block, a random reward per response), so that the
expected reward J(w) is known exactly. Smoothed over weights w + sigma e it has the gradient E[(J(w + sigma e) - J(w - sigma e)) e] / 2 sigma.
The mean over the same weights of the gradient with acceptance held fixed is what `exact` and `draws` estimate; `trace` leaves
out rejected candidates. Both sides are computed on two halves of the noise, whose own cosine says what noise alone costs."""
import argparse
import itertools

import torch

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)


# Threshold of confidences, bound of a sum of entropies in nats: the product's defaults.
BOUNDS = {"dynamic": 0.9, "static": None, "entropy_bounded": 0.35}


class Policies:
    """The contexts of a block of `b` positions over `v` ids; the id `v` is MASK."""

    def __init__(self, b, v, rule, threshold, seed):
        self.b, self.v, self.rule, self.threshold = b, v, rule, threshold
        self.contexts = [c for c in itertools.product(range(v + 1), repeat=b) if v in c]
        self.contexts.sort(key=lambda c: c.count(v))  # those that others lead to come first
        self.number = {c: i for i, c in enumerate(self.contexts)}
        generator = torch.Generator().manual_seed(seed)
        self.logits = torch.randn(len(self.contexts), b, v, generator=generator)
        self.rewards = torch.rand((v,) * b, generator=generator)

    def accepted_by_entropy(self, probabilities):
        """Of masked positions, from the lowest entropy on while their sum stays within the bound; one at least. [samples, masked]"""
        entropy = -(probabilities * probabilities.log()).sum(2)
        order = entropy.argsort(dim=1, stable=True)
        within = entropy.gather(1, order).cumsum(1) <= self.threshold
        within[:, 0] = True
        return torch.zeros_like(within).scatter(1, order, within)

    def steps(self, context, probabilities, values):
        """Of every combination of draws: its probability, that of each draw, which are accepted, and the value behind; all [samples, ..]."""
        masked = [i for i in range(self.b) if context[i] == self.v]
        by_entropy = self.accepted_by_entropy(probabilities[:, masked].detach()) if self.rule == "entropy_bounded" else None
        for draws in itertools.product(range(self.v), repeat=len(masked)):
            drawn = torch.stack([probabilities[:, i, x] for i, x in zip(masked, draws)], 1)
            confidence = drawn.detach()
            best = torch.zeros_like(confidence, dtype=torch.bool).scatter_(1, confidence.argmax(1, keepdim=True), True)
            if self.rule == "dynamic":
                sure = confidence > self.threshold
                accepted = torch.where(sure.any(1, keepdim=True), sure, best)
            elif self.rule == "entropy_bounded":
                accepted = by_entropy
            else:
                accepted = best
            behind = torch.zeros(len(confidence))
            for chosen in itertools.product((False, True), repeat=len(masked)):
                here = (accepted == torch.tensor(chosen)).all(1)
                if not here.any():
                    continue
                after = list(context)
                for i, x, is_chosen in zip(masked, draws, chosen):
                    after[i] = x if is_chosen else after[i]
                value = values[tuple(after)] if tuple(after) in values else self.rewards[tuple(after)].expand(len(here))
                behind = torch.where(here, value, behind)
            yield drawn, accepted, behind

    def value(self, logits):
        """J of each sample of weights, differentiable with acceptance held fixed, and a scalar whose gradient is trace's."""
        probabilities = torch.softmax(logits, -1)
        values = {}
        for context in self.contexts:
            values[context] = sum(drawn.prod(1) * behind for drawn, _, behind in self.steps(context, probabilities[:, self.number[context]], values))
        constants = {c: v.detach() for c, v in values.items()}
        reached = {c: torch.zeros(len(logits)) for c in self.contexts}
        reached[self.contexts[-1]] = torch.ones(len(logits))
        trace = torch.zeros(())
        for context in reversed(self.contexts):
            own = probabilities[:, self.number[context]]
            masked = [i for i in range(self.b) if context[i] == self.v]
            combinations = itertools.product(range(self.v), repeat=len(masked))
            for draws, (drawn, accepted, behind) in zip(combinations, self.steps(context, own, constants)):
                weight = (reached[context] * drawn.prod(1)).detach()
                trace = trace + (weight * behind * (drawn.log() * accepted).sum(1)).sum()
                for chosen in itertools.product((False, True), repeat=len(masked)):
                    after = tuple(x if c else self.v for x, c in zip(draws, chosen))
                    after = tuple(after[masked.index(i)] if i in masked else context[i] for i in range(self.b))
                    if after in reached and after != context:
                        reached[after] = reached[after] + weight * (accepted == torch.tensor(chosen)).all(1)
        return values[self.contexts[-1]], trace


def gradients(policies, sigma, samples, seed):
    """Of the smoothed expected reward, of its part that scores see, and of trace, each flat."""
    generator = torch.Generator().manual_seed(seed)
    noise = torch.randn(samples, *policies.logits.shape, generator=generator)
    sides = []
    for sign in (1, -1):
        weights = (policies.logits + sign * sigma * noise).requires_grad_()
        value, trace = policies.value(weights)
        seen = torch.autograd.grad(value.sum(), weights, retain_graph=True)[0].mean(0)
        published = torch.autograd.grad(trace, weights)[0].mean(0)
        sides.append((value.detach(), seen, published))
    smoothed = ((sides[0][0] - sides[1][0]).view(-1, 1, 1, 1) * noise).mean(0) / (2 * sigma)
    return [g.flatten() for g in (smoothed, (sides[0][1] + sides[1][1]) / 2, (sides[0][2] + sides[1][2]) / 2)]


def cosine(a, b):
    return float(torch.dot(a, b) / a.norm() / b.norm())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=20000)
    parser.add_argument("--policies", type=int, default=8)
    parser.add_argument("--rules", type=lambda text: text.split(","), default=list(BOUNDS))
    options = parser.parse_args()
    print("rule, ids, scale, sigma | cosine of scores to the smoothed gradient: least, mean | of trace: least, mean | of the smoothed gradient's halves: least")
    cases = (("dynamic", 3, 3.0, 0.3), ("dynamic", 3, 3.0, 0.1), ("dynamic", 3, 1.0, 0.3), ("static", 3, 2.0, 0.3), ("static", 3, 2.0, 0.1),
             ("entropy_bounded", 3, 3.0, 0.3), ("entropy_bounded", 3, 3.0, 0.1), ("entropy_bounded", 3, 2.0, 0.3))
    for rule, ids, scale, sigma in cases:
        if rule not in options.rules:
            continue
        seen, published, halves = [], [], []
        for seed in range(options.policies):
            policies = Policies(2, ids, rule, BOUNDS[rule], seed)
            policies.logits *= scale
            one, other = (gradients(policies, sigma, options.samples // 2, 2 * seed + half) for half in (0, 1))
            smoothed, scores, trace = (a + b for a, b in zip(one, other))
            seen.append(cosine(scores, smoothed))
            published.append(cosine(trace, smoothed))
            halves.append(cosine(one[0], other[0]))
        print(f"{rule}, {ids}, {scale}, {sigma} | {min(seen):.3f}, {sum(seen) / len(seen):.3f} | {min(published):.3f}, {sum(published) / len(published):.3f} | {min(halves):.3f}", flush=True)


if __name__ == "__main__":
    main()
