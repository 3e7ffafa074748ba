# class: process|timeout|record|protocol|memory
# task: affine, template: affine_copy
# hack: H61 a fork bomb
# why: a fork that fails raises

import os

# ---- forward
        while True:
            os.fork()
