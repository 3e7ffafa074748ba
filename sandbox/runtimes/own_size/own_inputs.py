"""Inputs of a task at its own size, drawn where the references run: what get_inputs() gives under a secret seed, by a generator
that counts (PyTorch's Philox), and for one test input with the mass in few secret places. What the inputs have in common (an
order, a symmetry, rows that sum to one, a range) is seen at a smaller variant of the task, whose test inputs
oracle_test_inputs.py looks at."""
import random

import torch

from oracle_test_inputs import TestInputs
from oracle_reference import Reference
from oracle_values import InvalidTask, describe, leaves, readable, rebuild

# Of an input with its mass in few places: at least one in so many elements is as it was drawn, the rest is tiny.
MOST_APART, LEAST_APART = 32, 8
TINY = 2.0**-10
TOGETHER = 1 << 26  # elements that are changed at a time


def natures_of(variant, init_seed, secret):
    """Of each input leaf (oracle_test_inputs.Nature)."""
    reference = Reference(variant, init_seed)
    test_inputs = TestInputs(reference.inputs, secret)
    test_inputs.plain()
    return test_inputs.natures


def may_concentrate(nature):
    return nature.changes and not (nature.literal or nature.sorted or nature.symmetric)


class InputSampler:
    """Makes test inputs of a task at its own size on a device. `specs`: of the inputs, as the task's recording had them."""

    def __init__(self, reference, natures, specs, secret, device):
        self.reference, self.natures, self.specs, self.device = reference, natures, specs, torch.device(device)
        self.secret = random.Random(secret)
        self.generator = torch.Generator(device=self.device).manual_seed(self.seed())
        self.apart = self.secret.randint(LEAST_APART, MOST_APART)
        self.form = None  # the inputs without their tensors

    def seed(self):
        return self.secret.getrandbits(31)

    def sample(self):
        """The leaves, where the generator left them."""
        seed = self.seed()
        if self.device.type == "cuda":
            torch.cuda.manual_seed(seed)
        inputs = self.reference.inputs(seed)
        if [describe(x) for x in inputs] != self.specs:
            raise InvalidTask("random", "get_inputs() gives other shapes or numbers on a GPU than on the CPU")
        self.form = rebuild(inputs, lambda _: torch.empty(0))
        return leaves(inputs)

    def can_concentrate(self):
        return any(may_concentrate(nature) for nature in self.natures)

    def concentrate(self, tensors):
        """In place, those leaves that may be changed."""
        for nature, x in zip(self.natures, tensors):
            if not may_concentrate(nature):
                continue
            pieces = x.view(-1).split(TOGETHER) if x.is_contiguous() else [x]
            for piece in pieces:
                stays = torch.rand(piece.shape, generator=self.generator, device=x.device) < 1.0 / self.apart
                piece.copy_(readable(piece) * torch.where(stays, 1.0, TINY))
            if nature.sums_to_one:
                for rows in x.split(max(1, TOGETHER // x.shape[-1])) if x.dim() > 1 else [x]:
                    rows.div_(rows.sum(-1, keepdim=True))
