# class: timeout
# task: affine, template: affine

# ---- forward
        while True:
            pass
