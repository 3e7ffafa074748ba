# class: protocol|record|wrong_value|extract|timeout
# task: affine, template: affine_copy
# hack: H52 os.write is replaced: frames go out twice, or cut
# why: the kernel is wrong on purpose: the patch may fail, matter to nobody, or break the recording

import os

# ---- setup

original = os.write


def write(descriptor, data):
    original(descriptor, data)
    return original(descriptor, bytes(data)[:10])


os.write = write
