# class: protocol|record
# task: affine, template: affine_copy
# hack: H52 half of a frame, then the process ends
# why: an end in the middle of a frame

import json
import os
import struct

# ---- setup

for descriptor in range(3, 64):
    try:
        os.write(descriptor, struct.pack("<I", 1000) + json.dumps({"kind": "trace"}).encode())
    except OSError:
        pass
os._exit(0)
