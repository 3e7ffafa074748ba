# class: record|illegal_access|protocol|wrong_shape|unsupported
# task: affine, template: affine
# hack: H23 as_strided and set_ reach beyond the storage
# why: refused when the view is made, or when it is looked at

# ---- forward
        return module.affine(x).as_strided((33, 100), (100, 1), 50)
