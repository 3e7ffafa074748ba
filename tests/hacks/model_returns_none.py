# class: wrong_shape|record
# task: affine, template: affine
# hack: H23 None is returned
# why: what is no tensor has no shape; a recorder may refuse it first

# ---- forward
        module.affine(x)
