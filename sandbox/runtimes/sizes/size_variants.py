"""Smaller sizes of a task whose own is too large to be run here, as texts: what oracle.py answers to "sizes". Each variant's
reference has been run, and its answer has the form of the task's own."""
import math

import torch

from oracle_reference import Reference
from oracle_values import InvalidTask, describe, leaves
from size_constants import find_constants, with_values
from size_probe import Probe, form_of, probe, probe_or_fault
from size_search import Search

VERSION = "6"  # of these rules: part of a verifier's name
DIFFERENT = 3  # variants besides those with a long axis
SURELY_SMALL = 1 << 22  # the product of all constants: what is below is not looked at further
LARGEST = 1 << 30  # bytes of inputs, parameters and answer of a variant by hand
# Bytes that a task may have at its own size: every program is recorded there, and a recording holds its parameters. With 318
# MiB one takes 1.1 s on two idle cores. It may take 10, without what it waits for a processor, and 1 GiB of memory.
MOST_PARAMETERS = 320 << 20
MOST_BY_HAND = 32


def find(request):
    """(header, blobs): see oracle.py."""
    text, by_hand = request["task_code"], request["by_hand"]
    own = Reference(text, request["init_seed"])
    own.find_arguments()
    try:
        size = Probe(own)
    except NotImplementedError as error:
        raise InvalidTask("too_large", f"its shapes cannot be told without data: {str(error)[:200]}") from None
    if size.parameter_bytes > MOST_PARAMETERS:
        raise InvalidTask("too_large", f"its parameters take {size.parameter_bytes >> 20} MiB, and a recording of a program holds at "
                        f"most {MOST_PARAMETERS >> 20} MiB")
    variants = given_variants(text, by_hand, size.form()) if by_hand else found_variants(text, size.form())
    if not variants and not find_constants(text):
        raise InvalidTask("too_large", "its inputs, answer or work are too large to be run here, and it has no constants "
                        "that could be smaller: those of its module, its classes, get_inputs() and get_init_inputs() are "
                        "looked at")
    if not variants:
        raise InvalidTask("too_large", "its inputs, answer or work are too large to be run here, and no smaller values of its "
                        "constants were found at which it is")
    sampled = own.build(widened=False)
    return {"kind": "sizes", "inputs": size.inputs, "answer": size.answer, "arguments": own.arguments, "parameters": sampled,
            "has_costing_inputs": own.has_costing_inputs, "ignores_mode": own.ignores_mode(), "input_bytes": size.input_bytes, "output_bytes": size.output_bytes,
            "parameter_bytes": size.parameter_bytes, "lane_operations": size.lane_operations, "operators": size.operators,
            "variants": variants}, own.argument_bytes


def fitting_text(text, most_bytes, by_hand=None):
    """The text, or that of its first variant if inputs, parameters and answer take more at its own size. Sizes by hand are
    checked in any case; throws InvalidTask if one is none."""
    if not by_hand and math.prod(constant.value for constant in find_constants(text)) < SURELY_SMALL:
        return text
    size = probe(text)
    if size is None:
        return text
    given = given_variants(text, by_hand, size.form()) if by_hand else []
    if size.input_bytes + size.parameter_bytes + size.output_bytes <= most_bytes:
        return text
    variants = given or found_variants(text, size.form())
    return variants[0]["code"] if variants else text


def found_variants(text, form):
    for together in (False, True):
        search = Search(text, together)
        found = [(search.variant(sizes), search.named(sizes), is_long) for sizes, is_long in search.variants(DIFFERENT)]
        described = [entry for entry in (described_or_none(*variant, form) for variant in found) if entry]
        if described:
            return described
    return []


def given_variants(text, by_hand, form):
    """`by_hand`: by name of a constant its value, a list of such. Throws InvalidTask naming the first that is no variant."""
    if not isinstance(by_hand, list) or len(by_hand) > MOST_BY_HAND:
        raise InvalidTask("raises", f"reduced_sizes is no list of at most {MOST_BY_HAND} sizes")
    constants = find_constants(text)
    return [given_variant(text, constants, sizes, form) for sizes in by_hand]


def given_variant(text, constants, sizes, form):
    names = [constant.name for constant in constants]
    if not isinstance(sizes, dict) or any(type(size) is not int or size < 1 for size in sizes.values()):
        raise InvalidTask("raises", f"reduced_sizes must give whole numbers from 1 on by names of constants, found {str(sizes)[:200]}")
    for name in sizes:
        if names.count(name) != 1:
            raise InvalidTask("missing", f"reduced_sizes names '{name[:60]}', which is not one of its constants: "
                            f"{', '.join(names)[:200]}")
    values = [sizes.get(constant.name, constant.value) for constant in constants]
    try:
        return described_variant(with_values(text, constants, values), sizes, False, form)
    except InvalidTask as fault:
        raise InvalidTask(fault.kind, f"at reduced_sizes {str(sizes)[:200]}: {fault}") from None


def described_or_none(*variant):
    try:
        return described_variant(*variant)
    except InvalidTask:
        return None


def described_variant(text, sizes, is_long, form):
    """Throws InvalidTask if the reference does not run there, gives another form, or takes too much."""
    size = probe_or_fault(text)
    if size.form() != form:
        raise InvalidTask("raises", "the ranks, types or structure of its inputs or its answer are not those of its own size")
    total = size.input_bytes + size.parameter_bytes + size.output_bytes
    if total > LARGEST:
        raise InvalidTask("too_large", f"its inputs, parameters and answer take {total >> 20} MiB, over the limit of {LARGEST >> 20} MiB")
    try:
        reference = Reference(text, 0)
        reference.find_arguments()
        reference.build()
        inputs = reference.inputs(0)
        with torch.no_grad():
            returned, _ = reference.forward(inputs)
    except MemoryError:
        raise InvalidTask("too_large", "the reference needs more memory than the oracle's limit") from None
    if not leaves(returned) or [form_of(describe(x)) for x in (*inputs, returned)] != form:
        raise InvalidTask("raises", "run on data, its inputs or its answer have another form than without")
    return {"code": text, "sizes": sizes, "long": is_long, "inputs": size.input_shapes, "input_bytes": size.input_bytes,
            "output_bytes": size.output_bytes, "lane_operations": size.lane_operations}
