"""Composes operators of the catalogue into a task. Runs its own code alone, without data, to learn the shapes."""
import random
import re

import torch

from task_reference import Raises, Reference

DRAWN_SIZES = (16, 24, 32, 48, 64)
FIRST_SHAPES = {1: [(4096,)], 2: [(16, 64), (32, 48)], 3: [(8, 32, 64), (4, 48, 32)], 4: [(4, 16, 24, 24), (2, 32, 16, 16)],
                5: [(2, 8, 8, 12, 12)]}
MOST_ELEMENTS = 1 << 21  # of a value: what comes behind is run ten times
LAST_RANK = 5


class Unfit(Exception):
    """The operator takes no such value."""


class Draft:
    """A task that grows by an operator at a time."""

    def __init__(self, shape, drawn):
        self.first = shape
        self.shape = list(shape)
        self.drawn = drawn
        self.constructors, self.calls, self.inputs = [], [], []

    def copy(self):
        other = Draft(self.first, self.drawn)
        other.shape = list(self.shape)
        other.constructors, other.calls, other.inputs = list(self.constructors), list(self.calls), list(self.inputs)
        return other

    def sizes(self):
        s = self.shape
        return {"N": s[0], "C": s[1] if len(s) > 1 else s[0], "H": s[-2] if len(s) > 1 else s[0], "L": s[-1]}

    def named_shape(self, text, drawn):
        """Of `N,L,K`: the sizes, the batch by its name, so that it can be enlarged in one place."""
        parts = []
        for place, part in enumerate(text.split(",")):
            part = part.strip()
            if part == "S":
                sizes = self.shape
            elif part == "K":
                sizes = [drawn]
            else:
                sizes = [self.sizes()[part] if part in self.sizes() else int(part)]
            batch = place == 0 and part in ("S", "N") and len(self.shape) > 1 and self.shape[0] == self.first[0]
            parts += ["batch_size" if batch and i == 0 else str(size) for i, size in enumerate(sizes)]
        return ", ".join(parts)

    def filled(self, text, module, drawn):
        def part(match):
            inside = match.group(1)
            if inside == "x":
                return "x"
            if inside == "m":
                return module
            if inside == "K":
                return str(drawn)
            if inside in self.sizes():
                return str(self.sizes()[inside])
            kind, _, rest = inside.partition(" ")
            if kind == "parameter":
                shape = self.named_shape(rest, drawn).replace("batch_size", str(self.first[0]))
                name = f"weight{sum('nn.Parameter' in line for line in self.constructors) + 1}"
                scale = "" if "," not in shape else " * 0.1"
                self.constructors.append(f"self.{name} = nn.Parameter(torch.randn({shape}){scale})")
                return f"self.{name}"
            name = f"y{len(self.inputs) + 1}"
            if kind == "input":
                self.inputs.append(f"torch.randn({self.named_shape(rest, drawn)})")
            else:
                most, shape = rest.split(";")
                self.inputs.append(f"torch.randint(0, {self.named_shape(most, drawn)}, ({self.named_shape(shape, drawn)},))")
            return name

        return re.sub(r"\{([^{}]*)\}", part, text)

    def add(self, row, rng):
        """The draft with one operator more; Unfit if the value so far is none for it."""
        low, high = (row["ranks"].split("-") * 2)[:2]
        if not int(low) <= len(self.shape) <= int(high):
            raise Unfit("rank")
        other, drawn = self.copy(), rng.choice(self.drawn)
        name, arguments, call = row["name"], row["arguments"], row["call"]
        spoken = name.replace("torch.nn.functional.", "F.").replace("torch.nn.", "nn.")
        if name.rsplit(".", 1)[1][0].isupper():
            module = f"op{len(self.calls) + 1}"
            other.constructors.append(f"self.{module} = {spoken}({other.filled(arguments, module, drawn)})")
            made = other.filled(call or "self.{m}({x})", module, drawn)
        else:
            made = other.filled(call, "", drawn).replace("torch.nn.functional.", "F.") if call else \
                f"{spoken}({other.filled(arguments or '{x}', '', drawn)})"
        other.calls.append(f"x = {made}")
        other.shape = other.output_shape()
        return other

    def output_shape(self):
        try:
            with torch.device("meta"):
                reference = Reference(self.code())
                leaves, spec = reference.inputs(1)
                outputs = reference.run(leaves, spec)
        except Raises as error:
            raise Unfit(str(error)) from None
        if len(outputs) != 1 or not outputs[0].is_floating_point():
            raise Unfit("its answer is not one tensor of numbers")
        if not 0 < outputs[0].numel() <= MOST_ELEMENTS or outputs[0].dim() > LAST_RANK:
            raise Unfit("its answer is too large")
        return list(outputs[0].shape)

    def code(self):
        first = "batch_size" if len(self.first) > 1 else str(self.first[0])
        shape = ", ".join([first, *map(str, self.first[1:])])
        arguments = ", ".join(["x", *[f"y{i + 1}" for i in range(len(self.inputs))]])
        made = ",\n            ".join([f"torch.randn({shape})", *self.inputs])
        lines = ["import torch", "import torch.nn as nn", "import torch.nn.functional as F", "", "", "class Model(nn.Module):"]
        if self.constructors:
            lines += ["    def __init__(self):", "        super().__init__()", *[f"        {line}" for line in self.constructors], ""]
        lines += [f"    def forward(self, {arguments}):", *[f"        {line}" for line in self.calls], "        return x", "", ""]
        if "batch_size" in made:
            lines += [f"batch_size = {self.first[0]}", "", ""]
        lines += ["def get_inputs():", f"    return [{made}]", "", "", "def get_init_inputs():", "    return []", ""]
        return "\n".join(lines)


def compose(places, seed):
    """`places`: for each operator the rows to choose from, in the order in which they are tried. {"code", "operators"}, or
    {"unfit": why}."""
    rng = random.Random(seed)
    ranks = places[0][0]["ranks"]
    rank = rng.randint(int(ranks[0]), int(ranks[-1]))
    draft, names = Draft(rng.choice(FIRST_SHAPES[rank]), DRAWN_SIZES), []
    for place, rows in enumerate(places):
        why = ""
        for row in rows:
            try:
                grown = draft.add(row, rng)
                if place + 1 < len(places) and not grown.shape:
                    raise Unfit("nothing takes a single number")
                draft = grown
                names.append(row["name"])
                break
            except Unfit as error:
                why = f"{row['name']}: {error}"
        else:
            return {"unfit": f"behind {', '.join(names) or 'nothing'}: {why}"}
    return {"code": draft.code(), "operators": names}
