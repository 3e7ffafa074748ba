# class: wrong_shape|record|unsupported|protocol
# task: affine, template: affine
# hack: H52 the result is wrapped in a hundred thousand lists
# why: what is no tensor has no shape; a recorder may refuse it first

# ---- forward
        result = module.affine(x)
        for _ in range(100000):
            result = [result]
        return result
