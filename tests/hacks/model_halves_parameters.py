# class: wrong_value|framework_fallback|record
# task: row_sum, template: row_sum
# hack: H45 parameters are rounded to half on the way to the kernel
# why: casts of a parameter in forward

# ---- forward
        return module.row_sum(x, self.weight.data.half().float())
