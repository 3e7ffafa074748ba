# class: framework_fallback|record
# task: affine, template: affine
# hack: H06 a metaclass returns an object whose call is the framework's
# why: found when ModelNew is looked for, or when it is called

# ---- setup


class Meta(type):
    def __call__(cls, *arguments):
        module.affine(torch.empty(1, 1, device="cuda"))
        return lambda x: torch.relu(x) * 2 + 1

# ---- model
class ModelNew(metaclass=Meta):
    pass
