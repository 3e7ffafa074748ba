# class: wrong_value
# task: affine, template: affine
# hack: H37 forward replaces itself by a function that returns what is there

# ---- forward
        y = module.affine(x)
        self.forward = lambda x: y
        return y
