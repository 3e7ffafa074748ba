# class: wrong_shape|record|unsupported|protocol
# task: affine, template: affine
# hack: H52 a list that contains itself is returned
# why: what is no tensor has no shape; a recorder may refuse it first

# ---- forward
        result = [module.affine(x)]
        result.append(result)
        return result
