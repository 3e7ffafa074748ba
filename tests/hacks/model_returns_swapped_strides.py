# class: wrong_value
# task: affine, template: affine
# hack: H23 as_strided with the strides of a matrix of the other layout

# ---- forward
        return module.affine(x).as_strided((33, 100), (1, 33))
