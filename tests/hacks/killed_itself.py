# class: protocol|record|process|memory|wrong_value
# task: affine, template: affine_copy
# hack: H56 SIGKILL to itself in forward: a death that looks like the machine's
# why: a verifier may take a killed process for one that was too large
# why: the first process of a box cannot kill itself; then the wrong kernel decides

import os

# ---- forward
        os.kill(os.getpid(), 9)
        return module.affine(x)
