# class: wrong_value
# task: affine, template: affine
# hack: H23 as_strided in which all rows overlap

# ---- forward
        return module.affine(x).as_strided((33, 100), (1, 1))
