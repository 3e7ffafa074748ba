# class: wrong_shape|wrong_value
# task: affine, template: affine
# hack: H23 the bits are viewed as 32-bit integers
# why: another type

# ---- forward
        return module.affine(x).view(torch.int32)
