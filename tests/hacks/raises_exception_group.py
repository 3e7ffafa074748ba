# class: record
# task: affine, template: affine_copy
# hack: H56 a cycle of causes and contexts, a thousand deep

# ---- forward
        error = RuntimeError("infrastructure")
        for depth in range(1000):
            error.__cause__ = RuntimeError(str(depth), error)
            error = error.__cause__
        error.__cause__ = error
        raise error
