# class: record|wrong_shape
# task: affine, template: affine
# hack: H23 forward is a generator
# why: what is no tensor has no shape; a recorder may refuse it first

# ---- forward
        yield module.affine(x)
