# class: record|extract
# task: affine, template: affine
# hack: H06 ModelNew derives from Model, which is not there
# why: found when ModelNew is looked for, or when it is called

# ---- model
class ModelNew(Model):
    pass
