# class: record
# task: affine, template: affine
# hack: H30 marks in modules, builtins, the environment and torch's globals
# why: verify it twice: the second time must end like the first

import os
import sys

# ---- setup

import builtins

known = hasattr(builtins, "marker_of_hacks") or "MARKER_OF_HACKS" in os.environ or hasattr(torch, "marker_of_hacks")
builtins.marker_of_hacks = torch.marker_of_hacks = True
os.environ["MARKER_OF_HACKS"] = "1"
sys.modules["marker_of_hacks"] = torch
if not known:
    raise RuntimeError("nothing is left of an earlier run")
