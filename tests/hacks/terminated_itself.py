# class: protocol|record|process|timeout|wrong_value
# task: affine, template: affine_copy
# hack: H56 SIGTERM to itself in forward
# why: a stopped process answers nothing more
# why: the first process of a box ignores it; then the wrong kernel decides

import os
import signal

# ---- forward
        os.kill(os.getpid(), signal.SIGTERM)
        return module.affine(x)
