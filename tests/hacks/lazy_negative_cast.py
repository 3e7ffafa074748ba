# class: framework_fallback
# task: relu, template: mod_joined
# hack: neg view then cast to double and back

# ---- forward
        return torch._neg_view(mod.f(x)).double().float()
