# class: wrong_shape|record|host_read
# task: affine, template: affine
# hack: H23 a nested list of numbers is returned
# why: what is no tensor has no shape; a recorder may refuse it first

# ---- forward
        module.affine(x)
        return [[1.0] * 100 for _ in range(33)]
