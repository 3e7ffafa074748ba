# class: wrong_value
# task: affine, template: affine
# hack: H37 the tensor of the first call is the input of all calls

# ---- model
class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = None

    def forward(self, x):
        if self.x is None:
            self.x = x
        return module.affine(self.x)
