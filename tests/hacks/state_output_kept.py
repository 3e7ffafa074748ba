# class: wrong_value
# task: affine, template: affine
# hack: H37 the answer of the first call is kept and returned ever after

# ---- model
class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.answer = None

    def forward(self, x):
        if self.answer is None:
            self.answer = module.affine(x)
        return self.answer
