# class: timeout|memory|record|wrong_value
# task: affine, template: affine_copy
# hack: H62 a pickle that doubles itself sixty times
# why: the kernel is wrong on purpose

import pickle

# ---- forward
        value = b"(lp0\n" + b"(g0\ng0\nlp0\n" * 60 + b"."
        len(repr(pickle.loads(value)))
        return module.affine(x)
