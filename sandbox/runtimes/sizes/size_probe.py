"""What a task is at some size, found without data: on PyTorch's device "meta" everything has a shape and nothing a value.
Shapes of its inputs, parameters and answer, and the work of an ordinary program for it."""
import torch

import arguments
from oracle_operators import Operators
from oracle_reference import Reference, attempt
from oracle_values import InvalidTask, describe, leaves, span_bytes

class Probe:
    """inputs, answer: as describe() has them; parameters: shapes; input_bytes, output_bytes, parameter_bytes, elements: of
    inputs, parameters and answer; lane_operations: of an ordinary program; operators: as oracle_operators.py has them."""

    def __init__(self, reference):
        """Throws InvalidTask where the reference does not run, with or without data."""
        with torch.no_grad(), torch.device("meta"):
            inputs = reference.inputs(0)
            init = arguments.unpack(reference.arguments, reference.argument_bytes)
            make = reference.names["Model"]
            model = without_data(lambda: make(**init) if isinstance(init, dict) else make(*init))
            tensors = [*model.parameters(), *model.buffers()] if isinstance(model, torch.nn.Module) else []
            self.parameters = [list(x.shape) for x in tensors]
            self.inputs = [describe(x) for x in inputs]
            given = leaves(inputs)
            self.input_shapes = [list(x.shape) for x in given]
            with Operators([*given, *tensors]) as work:
                returned = attempt("forward()", model, *inputs)
        answer = leaves(returned)
        self.answer = describe(returned)
        self.input_bytes = sum(map(span_bytes, given))
        self.output_bytes = sum(x.numel() * x.element_size() for x in answer)
        self.parameter_bytes = sum(map(span_bytes, tensors))
        self.elements = sum(x.numel() for x in (*given, *tensors, *answer))
        self.lane_operations = work.ordinary_operations
        self.operators = work.summary(answer)

    def form(self):
        """What is the same at all sizes: ranks, types and structure of inputs and answer, and which axes are of one place."""
        return [form_of(x) for x in (*self.inputs, self.answer)]


def without_data(make):
    """The model; made with data where its constructor reads some."""
    try:
        return attempt("Model()", make)
    except InvalidTask as fault:
        if "meta tensor" not in str(fault):
            raise
        with torch.device("cpu"):
            model = attempt("Model()", make)
        return model.to("meta") if isinstance(model, torch.nn.Module) else model


def form_of(spec):
    if spec["t"] == "tensor":
        return ["tensor", spec["dtype"], [min(size, 2) for size in spec["shape"]]]
    if "items" in spec:
        return [spec["t"], spec.get("keys"), [form_of(item) for item in spec["items"]]]
    return [spec["t"], spec.get("v")]


def probe_or_fault(text):
    """Throws InvalidTask where the reference does not run at these sizes."""
    try:
        reference = Reference(text, 0)
        reference.find_arguments()
        return Probe(reference)
    except MemoryError:
        raise InvalidTask("too_large", "the reference needs more memory than the oracle's limit") from None
    except NotImplementedError as error:
        raise InvalidTask("too_large", f"its shapes cannot be told without data: {str(error)[:200]}") from None


def probe(text):
    """None where the reference does not run at these sizes."""
    try:
        return probe_or_fault(text)
    except InvalidTask:
        return None
