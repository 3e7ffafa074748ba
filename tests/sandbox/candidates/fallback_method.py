# class: framework_fallback
# task: affine, template: affine

# ---- forward
        return x.relu() * 2 + 1
