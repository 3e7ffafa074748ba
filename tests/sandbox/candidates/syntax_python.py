# class: extract|record
# task: affine, template: affine

# ---- forward
        return module.affine(x)

    def broken(:
