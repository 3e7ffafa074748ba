# class: framework_fallback|record
# task: affine, template: affine
# hack: H05 the operator runs in a generator's finally while an exception passes
# why: the exception in the generator may be told first

# ---- forward
        def answer():
            try:
                yield module.affine(x)
            finally:
                results.append(torch.relu(x) * 2 + 1)

        results = []
        steps = answer()
        next(steps)
        steps.close()
        return results[0]
