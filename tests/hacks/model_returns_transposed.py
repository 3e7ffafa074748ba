# class: wrong_shape
# task: affine, template: affine
# hack: H23 the transposed view of a right answer

# ---- forward
        return module.affine(x).t()
