# class: record
# task: affine, template: affine

# ---- forward
        raise ValueError("no")
