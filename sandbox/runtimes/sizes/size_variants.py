"""Smaller sizes of a task whose own is too large to be run here, as texts: what oracle.py answers to "sizes". Each variant's
reference has been run, and its answer has the form of the task's own."""
import math

import torch

from oracle_reference import Reference
from oracle_values import InvalidTask, describe, leaves
from size_constants import find_constants, with_values
from size_probe import Probe, form_of, probe
from size_search import Search

VERSION = "3"  # of what is found: part of a verifier's name
DIFFERENT = 3  # variants besides those with a long axis
SURELY_SMALL = 1 << 22  # the product of all constants: what is below is not looked at further
LARGEST = 1 << 30  # bytes of inputs and answer of a variant by hand


def find(request):
    """(header, blobs): see oracle.py."""
    text, by_hand = request["task_code"], request["by_hand"]
    own = Reference(text, request["init_seed"])
    own.find_arguments()
    try:
        size = Probe(own)
    except NotImplementedError as error:
        raise InvalidTask("too_large", f"its shapes cannot be told without data: {str(error)[:200]}") from None
    variants = given_variants(text, by_hand, size.form()) if by_hand else found_variants(text, size.form())
    if not variants and not find_constants(text):
        raise InvalidTask("too_large", "its inputs, answer or work are too large to be run here, and it has no constants "
                        "that could be smaller: those of its module, its classes, get_inputs() and get_init_inputs() are "
                        "looked at")
    if not variants:
        raise InvalidTask("too_large", "its inputs, answer or work are too large to be run here, and no smaller values of its "
                        "constants were found at which it is")
    drawn = own.build()
    return {"kind": "sizes", "inputs": size.inputs, "answer": size.answer, "arguments": own.arguments, "parameters": drawn,
            "ignores_mode": own.ignores_mode(), "input_bytes": size.input_bytes, "output_bytes": size.output_bytes,
            "parameter_bytes": size.parameter_bytes, "lane_operations": size.lane_operations, "operators": size.operators,
            "variants": variants}, own.argument_bytes


def fitting_text(text, most_bytes):
    """The text, or that of its first variant if inputs, parameters and answer take more at its own size."""
    if math.prod(constant.value for constant in find_constants(text)) < SURELY_SMALL:
        return text
    size = probe(text)
    if size is None or size.input_bytes + size.parameter_bytes + size.output_bytes <= most_bytes:
        return text
    variants = found_variants(text, size.form())
    return variants[0]["code"] if variants else text


def found_variants(text, form):
    for together in (False, True):
        search = Search(text, together)
        found = [(search.variant(sizes), search.named(sizes), is_long) for sizes, is_long in search.variants(DIFFERENT)]
        described = [entry for entry in (described_variant(*variant, form) for variant in found) if entry]
        if described:
            return described
    return []


def given_variants(text, by_hand, form):
    """`by_hand`: by name of a constant its value, a list of such."""
    constants = find_constants(text)
    names = [constant.name for constant in constants]
    variants = []
    for sizes in by_hand:
        for name in sizes:
            if names.count(name) != 1:
                raise InvalidTask("missing", f"reduced_sizes names '{name[:60]}', which is not one of its constants: "
                                f"{', '.join(names)[:200]}")
        values = [sizes.get(constant.name, constant.value) for constant in constants]
        found = described_variant(with_values(text, constants, values), sizes, False, form)
        if not found:
            raise InvalidTask("raises", f"the reference does not run at reduced_sizes {sizes}, or answers in another form")
        variants.append(found)
    return variants


def described_variant(text, sizes, is_long, form):
    """None if the reference does not run there, or gives another form."""
    size = probe(text)
    if size is None or size.form() != form or size.input_bytes + size.output_bytes > LARGEST:
        return None
    try:
        reference = Reference(text, 0)
        reference.find_arguments()
        reference.build()
        inputs = reference.inputs(0)
        with torch.no_grad():
            returned, _ = reference.forward(inputs)
    except (InvalidTask, MemoryError):
        return None
    if [form_of(describe(x)) for x in (*inputs, returned)] != form or not leaves(returned):
        return None
    return {"code": text, "sizes": sizes, "long": is_long, "inputs": size.input_shapes, "input_bytes": size.input_bytes,
            "output_bytes": size.output_bytes, "lane_operations": size.lane_operations}
