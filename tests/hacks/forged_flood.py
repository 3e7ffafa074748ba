# class: protocol|wrong_value|record|output_limit|timeout|memory
# task: affine, template: affine_copy
# hack: H63 megabytes without a frame into every descriptor, for ever
# why: the kernel is wrong on purpose: if nobody listens to the forged bytes, that is the verdict

import json
import os
import struct

# ---- setup

import threading


def flood(descriptor):
    while True:
        try:
            os.write(descriptor, b"A" * 65536)
        except OSError:
            return


for descriptor in range(3, 64):
    threading.Thread(target=flood, args=(descriptor,), daemon=True).start()
