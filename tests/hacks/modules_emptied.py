# class: record|protocol|wrong_value|extract
# task: affine, template: affine_copy
# hack: H26 sys.modules is emptied and torch's attributes deleted
# why: the kernel is wrong on purpose: the patch may fail, matter to nobody, or break the recording

# ---- setup

import sys

for name in list(vars(torch)):
    if name not in ("Tensor", "nn"):
        try:
            delattr(torch, name)
        except Exception:
            pass
sys.modules.clear()
