# class: dead_kernel|framework_fallback|wrong_value
# task: affine, template: affine

# ---- forward
        module.affine(x)
        return x
