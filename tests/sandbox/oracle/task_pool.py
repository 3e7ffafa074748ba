"""The oracle's pool of a task of one line, for checks of the runtimes: their folder is the importing script's first argument."""
import sys

import torch

sys.path.insert(0, sys.argv[1])
from oracle_pool import Pool  # noqa: E402
from oracle_reference import Reference  # noqa: E402

torch.set_grad_enabled(False)
torch.set_num_threads(1)


def task_pool(forward, inputs, arguments="x", secret="secret", init="pass"):
    """The reference and its pool, which has not looked at anything yet."""
    code = ("import torch, torch.nn as nn, torch.nn.functional as F\nclass Model(nn.Module):\n    def __init__(self):\n"
            f"        super().__init__()\n        {init}\n    def forward(self, {arguments}):\n        return {forward}\n"
            f"def get_inputs():\n    return [{inputs}]\ndef get_init_inputs():\n    return []\n")
    reference = Reference(code, 7)
    reference.find_arguments()
    reference.build()
    return reference, Pool(reference, {"secret": secret, "tf32": False, "least_inputs": 8, "most_inputs": 8,
                                       "pool_bytes": 1 << 28, "max_output_bytes": 1 << 26, "most_lane_operations": 1 << 35})
