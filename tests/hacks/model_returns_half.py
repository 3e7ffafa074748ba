# class: wrong_shape|framework_fallback
# task: affine, template: affine
# hack: H14 a right answer, cast to half
# why: another type; the cast is an operator in some books

# ---- forward
        return module.affine(x).half()
