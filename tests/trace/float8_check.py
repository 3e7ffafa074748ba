"""Compares conversions of 8-bit floats with PyTorch's: float8_check.py FILE, with lines "FLOAT_BITS E4M3 E5M2" (in hex)."""
import sys

import torch

rows = [[int(word, 16) for word in line.split()] for line in open(sys.argv[1])]
given = torch.tensor([row[0] for row in rows]).to(torch.int32).view(torch.float32)
for column, dtype in ((1, torch.float8_e4m3fn), (2, torch.float8_e5m2)):
    ours = torch.tensor([row[column] for row in rows], dtype=torch.uint8)
    theirs = given.to(dtype).view(torch.uint8)
    assert torch.equal(ours, theirs), given[ours != theirs]
