# class: wrong_value
# task: affine, template: affine
# hack: H37 from the second call on, each call returns the answer of the one before

# ---- model
class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.before = None

    def forward(self, x):
        y = module.affine(x)
        before, self.before = self.before, y
        return y if before is None else before
