"""What is wrong with a task: its reference is run on many inputs, and with each input and parameter changed."""
import copy
import time

import torch

from task_fingerprint import fingerprints
from task_redundancy import find_redundant
from task_reference import Raises, Reference, differs, is_float, is_tensor, jittered, wide

DRAWS = 10
FEW_DRAWS = 3  # of a reference that takes long
LONG_S = 0.25
LARGE_ELEMENTS = 1 << 23  # of inputs and outputs: fewer draws
NARROW = 0.01  # of range and deviation, as robust-kbench has it
MOST_PARAMETERS = 200
LIMIT_S = 15  # of processor time for all; what is not looked for by then is said
REDUNDANCY_S = 8


class Examination:
    def __init__(self, code):
        self.reference = Reference(code)
        self.found = {}
        self.unchecked = []
        self.ends = time.process_time() + LIMIT_S

    def say(self, kind, message):
        self.found.setdefault(kind, message)

    def defects(self):
        return [{"kind": kind, "message": message} for kind, message in self.found.items()]

    # ---- What is asked, one after another

    def look(self):
        self.draw()
        self.check_outputs()
        self.check_fixed_inputs()
        self.widen()
        self.check_constant_output()
        self.check_trivial()
        self.check_inputs()
        self.check_parameters()
        self.check_modes()
        if "random" not in self.found:
            self.check_redundancy()

    def draw(self):
        """Inputs and outputs under several seeds, in the task's own types."""
        begin = time.process_time()
        self.inputs, self.outputs = [], []
        count = DRAWS
        while len(self.inputs) < count:
            leaves, self.spec = self.reference.inputs(1000 + len(self.inputs))
            if self.inputs and not same_shapes(self.inputs[0], leaves):
                raise Raises("get_inputs() gives other shapes under another seed")
            self.inputs.append(leaves)
            self.outputs.append(self.reference.run(leaves, self.spec))
            size = sum(x.numel() for x in leaves + self.outputs[-1] if is_tensor(x))
            if len(self.inputs) == 1 and (time.process_time() - begin > LONG_S or size > LARGE_ELEMENTS):
                count = FEW_DRAWS
        model = copy.deepcopy(self.reference.model)  # one for all calls: what it remembers of them shows
        again = [self.reference.run_again(self.inputs[0], self.spec, model, seed) for seed in (3, 3, 4, 5)]
        if any(differs(self.outputs[0], other, 0.0) for other in again):
            self.say("random", "two runs on the same inputs differ")
        if any(len(o) != len(self.outputs[0]) or any(a.shape != b.shape for a, b in zip(o, self.outputs[0])) for o in self.outputs):
            raise Raises("forward() returns other shapes under another seed")

    def check_outputs(self):
        for place in range(len(self.outputs[0])):
            values = [draw[place] for draw in self.outputs]
            what = f"output {place}"
            if any(not bool(torch.isfinite(x).all()) for x in values if x.is_floating_point() or x.is_complex()):
                self.say("not_finite", f"{what} holds NaN or an infinity")
                continue
            if values[0].is_complex():
                values = [torch.view_as_real(x) for x in values]
            pooled = torch.stack([x.double().reshape(-1) for x in values])
            if pooled.numel() == 0:
                self.say("narrow_output", f"{what} is empty")
                continue
            spread, deviation = float(pooled.max() - pooled.min()), float(pooled.std(correction=0))
            if spread <= NARROW or deviation < NARROW:
                self.say("narrow_output", f"{what} has the range {spread:.3g} and the deviation {deviation:.3g}")
            for axis, size in enumerate(values[0].shape):
                if size > 1 and all(flat_along(x.double(), axis) for x in values):
                    self.say("constant_axis", f"{what} never varies along axis {axis}")

    def check_fixed_inputs(self):
        tensors = [i for i, x in enumerate(self.inputs[0]) if is_tensor(x)]
        changes = {i: any(not torch.equal(draw[i], self.inputs[0][i]) for draw in self.inputs[1:]) for i in tensors}
        self.changes = changes
        if not any(changes.values()):
            self.say("fixed_input", "no input changes with the seed")
            return
        for i in tensors:
            x = self.inputs[0][i]
            if not changes[i] and x.numel() and bool((x == x.reshape(-1)[0]).all()):
                self.say("fixed_input", f"input {i} is {float(x.reshape(-1)[0]):.3g} everywhere under every seed")

    def widen(self):
        """From here on in fp64, where rounding hides nothing; in the task's types if its code insists on them."""
        model = copy.deepcopy(self.reference.model).double()
        inputs = [[wide(x) for x in draw] for draw in self.inputs]
        self.rounding = 1e-9
        try:
            self.base = self.reference.run(inputs[0], self.spec, model)
            if differs(*([without_rounding(x.double(), 1e-3) for x in outputs] for outputs in (self.outputs[0], self.base)), 0.05):
                raise Raises("another answer")
            self.model, self.wide_inputs = model, inputs
        except Raises:
            self.model, self.wide_inputs, self.rounding = self.reference.model, self.inputs, 1e-5
            self.base = self.outputs[0]
        self.shaken = jittered(self.model, 50)
        try:
            self.shaken_base = self.answer(self.wide_inputs[0], self.shaken)
            if not all(bool(torch.isfinite(x).all()) for x in self.shaken_base):
                raise Raises("parameters that it cannot take")
        except Raises:
            self.shaken, self.shaken_base = self.model, self.base

    def answer(self, leaves, model=None):
        return self.reference.run(leaves, self.spec, self.model if model is None else model)

    def changed(self, one, other):
        return differs(one, other, self.rounding)

    def check_constant_output(self):
        answers = [self.base] + [self.answer(draw) for draw in self.wide_inputs[1:]]
        for place in range(len(self.base)):
            values = [without_rounding(answer[place], self.rounding) for answer in answers]
            if not any(self.changed([values[0]], [other]) for other in values[1:]):
                self.say("constant_output", f"output {place} is the same for all inputs")
                if not self.changed([self.base[place]], [self.shaken_base[place]]):
                    self.say("trivial", f"output {place} is a constant")
        self.answers = answers

    def check_trivial(self):
        for place, output in enumerate(self.base):
            if output.numel() < 2:
                continue
            for i, leaf in enumerate(self.wide_inputs[0]):
                if is_tensor(leaf) and leaf.numel() == output.numel() and all(
                        not differs([draw[i].reshape(-1).to(answer[place].dtype)], [answer[place].reshape(-1)], self.rounding)
                        for draw, answer in [*zip(self.wide_inputs, self.answers), (self.wide_inputs[0], self.shaken_base)]):
                    self.say("trivial", f"output {place} is input {i}")

    # ---- Influence

    def check_inputs(self):
        for i, leaf in enumerate(self.wide_inputs[0]):
            if isinstance(leaf, (bool, str)) or not (is_tensor(leaf) or isinstance(leaf, (int, float))):
                continue
            if is_tensor(leaf) and leaf.numel() == 0:
                continue
            if not self.input_matters(i, leaf):
                self.say("unused_input", f"no output depends on input {i}")

    def input_matters(self, i, leaf):
        others = [draw[i] for draw in self.wide_inputs[1:4]] if is_tensor(leaf) and self.changes.get(i) else perturbed(leaf)
        for model, base in ((self.model, self.base), (self.shaken, self.shaken_base)):
            for other in others:
                leaves = list(self.wide_inputs[0])
                leaves[i] = other
                try:
                    if self.changed(base, self.answer(leaves, model)):
                        return True
                except Raises:
                    return True  # another value is not allowed: this one matters
        return False

    def check_parameters(self):
        names = [name for name, p in self.model.named_parameters() if p.is_floating_point() and p.numel()]
        if len(names) > MOST_PARAMETERS:
            self.unchecked.append("parameters")
            return
        for name in names:
            if time.process_time() > self.ends:
                self.unchecked.append("parameters")
                return
            if not self.parameter_matters(name):
                self.say("unused_parameter", f"no output depends on the parameter {name}")

    def parameter_matters(self, name):
        for model, base, leaves in ((self.model, self.base, self.wide_inputs[0]), (self.shaken, self.shaken_base, self.wide_inputs[0]),
                                    (self.shaken, None, self.wide_inputs[1])):
            other = copy.deepcopy(model)
            parameter = dict(other.named_parameters())[name]
            with torch.no_grad():
                noise = torch.rand(parameter.shape, generator=torch.Generator().manual_seed(9), dtype=torch.float64)
                parameter.mul_(1.25).add_(noise.to(parameter.dtype) * max(0.1, float(parameter.double().abs().mean())))
            try:
                base = self.answer(leaves, model) if base is None else base
                if self.changed(base, self.answer(leaves, other)):
                    return True
            except Raises:
                return True
        return False

    def check_modes(self):
        evaluating, training = copy.deepcopy(self.model).eval(), copy.deepcopy(self.model).train()
        try:
            for leaves in self.wide_inputs[:2]:
                if self.changed(self.answer(leaves, training), self.answer(leaves, evaluating)):
                    self.say("mode_difference", "train() and eval() answer differently")
                    return
        except Raises:
            self.say("mode_difference", "it runs in one of train() and eval() alone")

    def check_redundancy(self):
        found, finished = find_redundant(self.reference, self.model, self.wide_inputs, self.spec,
                                         [i for i, changes in self.changes.items() if not changes],
                                         min(REDUNDANCY_S, self.ends - time.process_time()))
        if found:
            self.say("redundant", found[0])
        if not finished:
            self.unchecked.append("redundancy")


def same_shapes(one, other):
    return len(one) == len(other) and all(is_tensor(a) == is_tensor(b) and (not is_tensor(a) or (a.shape == b.shape and a.dtype == b.dtype))
                                          for a, b in zip(one, other))


def flat_along(x, axis):
    scale = float(x.abs().max())
    return float((x.amax(axis) - x.amin(axis)).max()) <= 1e-7 * scale


def without_rounding(x, rounding):
    """Zeros for an output that is all rounding, as a mean of what is normalised is."""
    is_all_rounding = x.is_floating_point() and x.numel() and float(x.abs().max()) < 1e-2 * rounding
    return torch.zeros_like(x) if is_all_rounding else x


def perturbed(leaf):
    """Other values that an input without variation might have."""
    if isinstance(leaf, int):
        return [leaf + 1]
    if isinstance(leaf, float):
        return [leaf * 1.37 + 0.1]
    if is_float(leaf):
        noise = torch.rand(leaf.shape, generator=torch.Generator().manual_seed(9), dtype=torch.float64).to(leaf.dtype)
        return [leaf * 1.1 + 0.1 * noise, leaf + noise]
    if leaf.dtype == torch.bool:
        return [torch.rand(leaf.shape, generator=torch.Generator().manual_seed(9)) < 0.5]
    return [leaf.reshape(-1).roll(1).reshape(leaf.shape), leaf + 1] if leaf.numel() > 1 else [leaf + 1]


def examine(code):
    """{"defects": [{kind, message}], "unchecked": [...], "fingerprints": [...]}"""
    try:
        examination = Examination(code)
        examination.look()
    except Raises as error:
        return {"defects": [{"kind": "raises", "message": str(error)}], "unchecked": [], "fingerprints": []}
    return {"defects": examination.defects(), "unchecked": examination.unchecked,
            "fingerprints": [] if "random" in examination.found else fingerprints(examination)}
