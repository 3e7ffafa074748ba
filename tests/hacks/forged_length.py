# class: protocol|wrong_value|record|memory|output_limit
# task: affine, template: affine_copy
# hack: H52 a frame that announces four gigabytes
# why: the kernel is wrong on purpose: if nobody listens to the forged bytes, that is the verdict

import json
import os
import struct

# ---- setup

for descriptor in range(3, 64):
    try:
        os.write(descriptor, b"\xff\xff\xff\xff{")
    except OSError:
        pass
