# class: wrong_value|record|protocol|timeout
# task: affine, template: affine_copy
# hack: H26 sys.settrace rewrites values of other functions as they return
# why: the kernel is wrong on purpose: the patch may fail, matter to nobody, or break the recording

# ---- setup

import sys


def trace(frame, event, argument):
    if event == "return":
        frame.f_trace_lines = False
        for name in ("fault_class", "message"):
            if name in frame.f_locals:
                frame.f_locals[name] = "correct"
    return trace


sys.settrace(trace)
sys.setprofile(trace)
