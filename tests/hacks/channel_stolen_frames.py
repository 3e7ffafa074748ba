# class: protocol|record|timeout|wrong_value|memory|output_limit
# task: affine, template: affine_copy
# hack: H52 a thread reads the verifier's replies away
# why: the kernel is wrong on purpose: if nobody listens to the forged bytes, that is the verdict

import json
import os
import struct

# ---- setup

import threading


def steal():
    for descriptor in range(3, 64):
        try:
            os.set_blocking(descriptor, False)
            os.read(descriptor, 1 << 20)
        except OSError:
            pass


for _ in range(8):
    threading.Thread(target=steal, daemon=True).start()
module = load_inline(name="again", cpp_sources="torch::Tensor affine(torch::Tensor x);", cuda_sources=source,
                     functions=["affine"])
