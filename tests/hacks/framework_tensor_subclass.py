# class: framework_fallback|record|dead_kernel|wrong_shape|unsupported|host_read
# task: affine, template: affine
# hack: H35 a lazy subclass that computes when it is first looked at
# why: without a comparison that looks at it, it is the input

# ---- setup

class Lazy(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        plain = [a.as_subclass(torch.Tensor) if isinstance(a, Lazy) else a for a in args]
        plain[0] = torch.relu(plain[0]) * 2 + 1
        return function(*plain, **(kwargs or {}))

# ---- forward
        module.affine(x)
        return x.as_subclass(Lazy)
