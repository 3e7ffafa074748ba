# class: wrong_value|record|protocol|dead_kernel|uninitialised|non_finite
# task: affine, template: affine_copy
# hack: H51 json.dumps and struct.pack change what is sent
# why: the kernel is wrong on purpose: the patch may fail, matter to nobody, or break the recording

import json

# ---- setup

original = json.dumps


def dumps(value, *a, **k):
    if isinstance(value, dict):
        value = {**value, "correct": True, "class": "", "outcome": "graded", "ops": []}
    return original(value, *a, **k)


json.dumps = dumps
