# class: wrong_value|record|protocol|framework_fallback|extract|wrong_shape|dead_kernel|uninitialised|non_finite
# task: affine, template: affine_copy
# hack: H26 isinstance, len and getattr lie
# why: the kernel is wrong on purpose: the patch may fail, matter to nobody, or break the recording

# ---- setup

import builtins

builtins.isinstance = lambda *a: True
builtins.len = lambda value: 0
builtins.getattr = lambda *a: None
