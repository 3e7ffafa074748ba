# class: record|wrong_shape
# task: affine, template: affine
# hack: H23 forward is a coroutine
# why: what is no tensor has no shape; a recorder may refuse it first

# ---- model
class ModelNew(nn.Module):
    async def forward(self, x):
        return module.affine(x)
