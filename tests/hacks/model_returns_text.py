# class: wrong_shape|record
# task: affine, template: affine
# hack: H51 the text 'correct' is returned
# why: what is no tensor has no shape; a recorder may refuse it first

# ---- forward
        module.affine(x)
        return "correct"
