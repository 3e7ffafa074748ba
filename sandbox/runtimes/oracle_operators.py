"""What eager PyTorch would have a device do for a reference: an operator is a kernel that reads its operands from memory and
writes its results there. Bytes, operations and launches, for the cost model (docs/cost_model.md); no time is taken here.

Each entry is {"name", "kind": "stream" | "matrix" | "convolution", "precision": "float32" | "half" | "float64" | "tf32",
"reads": [[bytes, distance]], "written": bytes, "elements", "flops", "outputs", "count": launches that are like this one}. A
distance is how many bytes have been touched since the operand was, from the beginning of the operator that did it last,
rounded up to a power of two; -1: never. A compiler that fuses is taken to run what lies between products of matrices in one
kernel each.

From the same operators comes what any program has to do at least, in operations of the machine's lanes (sandbox/interpreter/ptx/execution/grid.h):
a multiply-add takes half of one, as in matrix instructions or of pairs of narrow numbers, and what is multiplied by zero is
left out, as a diagonal or a triangle may be. Of a convolution fast algorithms save three quarters. A load or a store moves 16 bytes at most.
And what a program in ordinary style does, which fuses nothing and has no matrix instructions.
"""
import json
import math

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from oracle_values import InvalidTask

KEPT_BYTES = 1 << 30  # of intermediate results that are held so that each keeps a storage of its own
FAST_CONVOLUTION = 4  # F(4x4, 3x3) by Winograd
BYTES_OF_OPERATION = 16
# Of an ordinary program: of a multiply-add in a product of matrices and in a convolution, whose indices are checked; of an
# element of an operator, and of a place of a window.
PRODUCT, CONVOLVED, ELEMENT, WINDOW = 5, 12, 16, 8
MOST_TEXT = 4 << 20  # bytes of the summary, of the 8 MiB that a message has for all that it says
LARGE_PRODUCT = 1 << 30  # multiply-adds: only there is it worth looking for zeros
MATRIX = {"mm", "bmm", "addmm", "baddbmm", "addbmm", "dot", "mv", "addmv"}
FLOPS_BY_PLACE = {"mm": 0, "bmm": 0, "dot": 0, "mv": 0, "addmm": 1, "baddbmm": 1, "addbmm": 1, "addmv": 1}
CONVOLUTION = {"convolution", "_convolution", "mkldnn_convolution", "convolution_overrideable"}
RECURRENT = {"mkldnn_rnn_layer"}
GATHERS = {"embedding", "index", "index_select", "gather", "take", "_embedding_bag"}
NO_KERNEL = {"empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided", "empty_permuted", "detach", "alias",
             "lift_fresh", "_local_scalar_dense", "is_same_size", "item", "set_", "resize_", "_unsafe_view", "size", "stride"}


def tensors_in(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from tensors_in(part)


def bytes_of(tensor):
    """That an operator must move of it: what is broadcast is there once."""
    return min(tensor.numel() * tensor.element_size(), tensor.untyped_storage().nbytes())


def power_of_two(distance):
    """The next one. The cost model does not distinguish distances that this makes equal."""
    return 1 << max(distance - 1, 0).bit_length()


def product_flops(name, args):
    first = args[FLOPS_BY_PLACE[name]]
    second = args[FLOPS_BY_PLACE[name] + 1]
    columns = second.shape[-1] if second.dim() > 1 else 1
    return 2 * first.numel() * columns


def least_products(name, args, flops):
    """Multiply-adds of an operator between numbers that are not zero."""
    if "scaled_dot_product" in name:
        return flops // 4  # causal, perhaps
    first = FLOPS_BY_PLACE.get(name)
    if flops // 2 < LARGE_PRODUCT or name not in ("mm", "addmm", "bmm", "baddbmm"):
        return flops // 2
    a, b = args[first], args[first + 1]
    if a.is_meta:  # nothing is known of its values
        return flops // 2
    return int(((a != 0).sum(-2).double() * (b != 0).sum(-1).double()).sum())


def convolution_flops(args, out):
    source, weight = args[0], args[1]
    transposed = bool(args[6]) if len(args) > 6 and isinstance(args[6], bool) else False
    return 2 * (source if transposed else out).numel() * (weight.numel() // max(weight.shape[0], 1))


def attention_flops(args):
    query, key = args[0], args[1]
    return 4 * query.numel() * key.shape[-2]


def precision_of(tensors, convolution):
    types = {t.dtype for t in tensors if t.is_floating_point()}
    if torch.float64 in types:
        return "float64"
    if types & {torch.float16, torch.bfloat16} and torch.float32 not in types:
        return "half"
    return "tf32" if convolution else "float32"  # cuDNN is allowed TF32 unless somebody says otherwise, cuBLAS is not


class Operators(TorchDispatchMode):
    """Use around a forward pass; `inputs`: all tensors that are there before, parameters included."""

    def __init__(self, inputs):
        super().__init__()
        self.entries = []
        self.least_operations = 0.0  # of lanes, in products of matrices and convolutions
        self.ordinary_operations = 0  # of lanes, of a program in ordinary style
        self.kept, self.kept_bytes = [], 0
        self.given = {self._key(t): bytes_of(t) for t in inputs}
        self.kept += [t.untyped_storage() for t in inputs]

    @staticmethod
    def _key(tensor):
        return tensor.untyped_storage()._cdata

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name = function.overloadpacket.__name__
        out = function(*args, **(kwargs or {}))
        results = list(tensors_in(out))
        operands = list(tensors_in(list(args))) + list(tensors_in(list((kwargs or {}).values())))
        mutates = function._schema.is_mutable
        known = {self._key(t) for t in operands}
        views = not mutates and results and all(self._key(t) in known for t in results)
        if results and not views and name.rstrip("_") not in NO_KERNEL and name not in NO_KERNEL:
            self._add(name.rstrip("_"), args, operands, results)
        for result in results:
            if self._key(result) not in known and self.kept_bytes < KEPT_BYTES:
                self.kept.append(result.untyped_storage())
                self.kept_bytes += result.untyped_storage().nbytes()
        return out

    def _add(self, name, args, operands, results):
        elements = max(t.numel() for t in (*operands, *results))
        kind, flops = "stream", elements
        if name in MATRIX:
            kind, flops = "matrix", product_flops(name, args)
        elif name in CONVOLUTION:
            kind, flops = "convolution", convolution_flops(args, results[0])
        elif "scaled_dot_product" in name:
            kind, flops = "matrix", attention_flops(args)
        elif name in RECURRENT:
            kind, flops = "matrix", 2 * operands[0].numel() * operands[1].numel() // max(operands[0].shape[-1], 1)
        precision = precision_of((*operands, *results), kind == "convolution")
        if kind != "stream":
            products = least_products(name, args, flops) if kind == "matrix" else flops // 2 // FAST_CONVOLUTION
            self.least_operations += products / 2
        self.ordinary_operations += self._ordinary(name, kind, args, elements, flops, results)
        written = {self._key(t): bytes_of(t) for t in results}
        read = {}
        for tensor in operands:
            if self._key(tensor) not in written or name in ("add", "mul", "copy", "sub", "div"):
                read[self._key(tensor)] = max(read.get(self._key(tensor), 0), bytes_of(tensor))
        if name in GATHERS:
            most = sum(written.values())
            read = {key: min(size, most) for key, size in read.items()}
        self.entries.append({"name": name, "kind": kind, "elements": elements, "flops": flops,
                             "precision": precision,
                             "outputs": max(1, max(t.numel() for t in results)), "read": read, "writes": written})

    @staticmethod
    def _ordinary(name, kind, args, elements, flops, results):
        if kind != "stream":
            return (CONVOLVED if kind == "convolution" else PRODUCT) * flops // 2
        window = 1
        if "pool" in name and "adaptive" not in name and len(args) > 1 and isinstance(args[1], (list, tuple)):
            window = math.prod(args[1])
        return ELEMENT * elements + (WINDOW * window * results[0].numel() if window > 1 else 0)

    def _placed(self, entries):
        """With distances, as if they ran in this order. Equal ones are one entry: an unrolled recurrence has tens of thousands
        of launches and a few dozen kinds of them."""
        touched, total, placed = {}, 0, {}
        for entry in entries:
            reads = [[size, power_of_two(total - touched[key]) if key in touched else -1] for key, size in entry["read"].items()]
            start = total
            for part in ("read", "writes"):
                for key, size in entry[part].items():
                    touched[key] = start
                    total += size
            one = ({key: value for key, value in entry.items() if key not in ("read", "writes")}
                   | {"reads": reads, "written": sum(entry["writes"].values()), "count": 0})
            placed.setdefault(str(one), one)["count"] += 1
        return list(placed.values())

    def summary(self, returned):
        """`returned`: tensors of the answer. Throws InvalidTask where it would be too long."""
        found = {"eager": self.eager(), "fused": self.fused(returned), "least_bytes": self.least_bytes(returned)}
        if len(json.dumps(found)) > MOST_TEXT:
            raise InvalidTask("too_large", f"its forward pass runs too many different operators: {len(found['eager'])} of "
                              f"{len(self.entries)}, whose list takes more than {MOST_TEXT >> 20} MiB")
        return found

    def eager(self):
        return self._placed(self.entries)

    def fused(self, returned):
        """`returned`: tensors of the answer."""
        wanted = {self._key(t) for t in returned}
        groups = []
        for entry in self.entries:
            if entry["kind"] == "stream" and groups and groups[-1][0]["kind"] == "stream":
                groups[-1].append(entry)
            else:
                groups.append([entry])
        later, fused = set(wanted), []
        for group in reversed(groups):
            inside, read, writes = set(), {}, {}
            for entry in group:
                for key, size in entry["read"].items():
                    if key not in inside:
                        read[key] = max(read.get(key, 0), size)
                inside |= entry["writes"].keys()
                writes |= {key: size for key, size in entry["writes"].items() if key in later}
            later |= read.keys()
            first = group[0]
            fused.append(first | {"flops": sum(e["flops"] for e in group), "read": read, "writes": writes,
                                  "elements": max(e["elements"] for e in group)})
        return self._placed(fused[::-1])

    def least_bytes(self, returned):
        """That any program must move: the operands that are given, and the answer."""
        read = {}
        for entry in self.entries:
            for key, size in entry["read"].items():
                if key in self.given:
                    read[key] = max(read.get(key, 0), min(size, self.given[key]))
        return sum(read.values()) + sum(math.prod(t.shape) * t.element_size() for t in returned)

    def least_lane_operations(self, returned):
        return self.least_operations + self.least_bytes(returned) / BYTES_OF_OPERATION
