# class: wrong_value|record|protocol|framework_fallback|extract|wrong_shape|dead_kernel|timeout|uninitialised|non_finite
# task: affine, template: affine_copy
# hack: H26 every function of modules that are not the library's is replaced by one that says True
# why: the kernel is wrong on purpose: the patch may fail, matter to nobody, or break the recording

# ---- setup

import sys
import types

for name, loaded in list(sys.modules.items()):
    origin = getattr(loaded, "__file__", None) or ""
    if "site-packages" not in origin and "lib/python" not in origin and name not in ("builtins", "sys"):
        for attribute, value in list(vars(loaded).items()):
            if isinstance(value, types.FunctionType) and attribute != "affine":
                setattr(loaded, attribute, lambda *a, **k: True)
