# class: protocol|record|wrong_value|extract
# task: affine, template: affine_copy
# hack: H26 a gc callback and finalizers write to descriptors at every collection
# why: the kernel is wrong on purpose: the patch may fail, matter to nobody, or break the recording

# ---- setup

import gc
import os
import weakref


def collected(phase, info):
    for descriptor in range(3, 16):
        try:
            os.write(descriptor, b"collected")
        except OSError:
            pass


gc.callbacks.append(collected)
gc.set_threshold(1, 1, 1)
finalizer = weakref.finalize(module, collected, "", {})
