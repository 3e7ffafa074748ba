# class: timeout|record
# task: affine, template: affine_copy
# hack: H58 reads from stdin and from a pipe that nobody writes to
# why: a closed stdin gives an end of file, the pipe nothing

import os
import sys

# ---- forward
        sys.stdin.read()
        reading, writing = os.pipe()
        os.read(reading, 1)
        return module.affine(x)
