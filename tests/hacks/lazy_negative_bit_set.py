# class: framework_fallback
# task: relu, template: mod_joined
# hack: Tensor._set_neg

# ---- forward
        y = mod.f(x)
        torch._C._set_neg(y, True) if hasattr(torch._C,"_set_neg") else y._set_neg(True)
        return y
