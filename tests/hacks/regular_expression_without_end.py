# class: timeout
# task: affine, template: affine_copy
# hack: H58 a regular expression that backtracks for ever inside of C code

import re

# ---- forward
        re.match(r"(a+)+$", "a" * 64 + "b")
        return module.affine(x)
