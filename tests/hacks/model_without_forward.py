# class: record
# task: affine, template: affine
# hack: H06 forward is missing

# ---- model
class ModelNew(nn.Module):
    def affine(self, x):
        return module.affine(x)
