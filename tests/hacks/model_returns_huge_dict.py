# class: wrong_shape|record|output_limit|memory|protocol|timeout
# task: affine, template: affine
# hack: H63 a dictionary with two million keys is returned
# why: what is no tensor has no shape; a recorder may refuse it first, or a limit ends it

# ---- forward
        result = module.affine(x)
        return {"key" * 10 + str(i): result for i in range(2000000)}
