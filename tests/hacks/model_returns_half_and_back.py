# class: wrong_value|framework_fallback|non_finite
# task: affine, template: affine
# hack: H14 a right answer, cast to half and back
# why: casts pass on what kernels wrote, rounded; large values leave the range of half

# ---- forward
        return module.affine(x).half().float()
