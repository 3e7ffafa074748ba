# class: framework_fallback
# task: affine, template: affine
# hack: H01 a TorchFunctionMode replaces empty_like by the answer

# ---- setup

from torch.overrides import TorchFunctionMode


class Answers(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function is torch.empty_like:
            return function(*args).copy_(args[0]).clamp_(min=0).mul_(2).add_(1)
        return function(*args, **(kwargs or {}))

# ---- forward
        module.affine(x)
        with Answers():
            return torch.empty_like(x)
