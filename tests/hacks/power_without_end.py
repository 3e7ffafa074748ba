# class: timeout|memory|record
# task: affine, template: affine_copy
# hack: H58 an integer power that neither signals nor exceptions interrupt
# why: time, or the memory of the number

# ---- forward
        9 ** 9 ** 9 ** 9
        return module.affine(x)
