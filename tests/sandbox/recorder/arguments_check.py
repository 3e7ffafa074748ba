"""arguments.py: what a constructor is called with arrives as it was. argv[1]: the folder of runtimes."""
import collections
import json
import math
import sys

import torch

sys.path.insert(0, sys.argv[1])
import arguments  # noqa: E402


def sent(value):
    blobs = []
    spec = json.loads(json.dumps(arguments.pack(value, blobs)))
    return arguments.unpack(spec, [bytes(blob) for blob in blobs])


plain = [None, True, False, 3, -1, 2**80, 0.1, -0.0, math.inf, 1e-310, "text", "zwölf", [], (), {}, [1, (2, [3.5, None])],
         {"a": 1, 2: (3,), None: "b"}, torch.float16, torch.device("cpu")]
for value in plain:
    found = sent(value)
    assert found == value and type(found) is type(value), (value, found)
assert math.isnan(sent(math.nan)) and math.copysign(1, sent(-0.0)) == -1
assert sent(torch.Size([2, 3])) == (2, 3)
assert list(sent({"b": 1, "a": 2})) == ["b", "a"]
Pair = collections.namedtuple("Pair", "a b")
assert sent(Pair(1, 2)) == (1, 2)

for tensor in (torch.randn(3, 4), torch.randn(4, 3).t(), torch.randn(5).half(), torch.randn(2).bfloat16(), torch.arange(6),
               torch.tensor([True, False]), torch.tensor(2.5), torch.empty(0, 3), torch.randn(2, requires_grad=True) * 2):
    found = sent(tensor)
    assert found.dtype == tensor.dtype and found.shape == tensor.shape and torch.equal(found, tensor.detach())
parameter = sent([torch.nn.Parameter(torch.ones(3))])[0]
assert isinstance(parameter, torch.nn.Parameter) and parameter.requires_grad
try:
    import numpy
    assert sent(numpy.int64(7)) == 7 and sent(numpy.float32(0.5)) == 0.5
except ImportError:
    pass

for value, name in ((torch.nn.ReLU(), "ReLU"), (torch.nn.functional.relu, "function"), (object, "type"), ({1}, "set"),
                    (torch.zeros(2, dtype=torch.complex64), "complex64")):
    try:
        sent([value])
    except arguments.Unsendable as error:
        assert name in str(error), error
    else:
        raise AssertionError(value)
