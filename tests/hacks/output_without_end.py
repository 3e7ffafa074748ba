# class: output_limit|timeout
# task: affine, template: affine_copy
# hack: H63 stdout and stderr without end
# why: counted as output, or as time

import os

# ---- forward
        while True:
            os.write(1, b"A" * 65536)
            os.write(2, b"\x00\xff" * 32768)
