# class: framework_fallback
# task: affine, template: affine
# hack: H05 contextlib.suppress and a finally that returns
# why: the refusal of the operator must not be something that a program can swallow

import contextlib

# ---- forward
        result = None
        with contextlib.suppress(BaseException):
            result = torch.relu(x) * 2 + 1
        try:
            result = module.affine(x) if result is None else result
        finally:
            return result
