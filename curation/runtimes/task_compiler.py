"""Answers whether torch.compile takes a task, code generation included, in a box that may start a C++ compiler."""
import os

os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"  # no pool of processes: a child compiles for itself

import torch._inductor.config as inductor  # noqa: E402

from task_operators import check_compile  # noqa: E402
from task_reader import SMALL, run  # noqa: E402, F401: the module's entry

inductor.cpp.simdlen = 0  # scalar code: a child cannot see what the processor has
inductor.cpp.vec_isa_ok = False  # nor need it be tried out
inductor.cpp_cache_precompile_headers = False  # hundreds of megabytes, for each child
inductor.fx_graph_cache = False


def warm_up():
    """Imports what the first question would, and fails where there is no compiler."""
    answer = check_compile(SMALL, "inductor")
    if not answer.get("compiled"):
        raise RuntimeError(f"torch.compile cannot generate code here: {answer.get('refused')}")
