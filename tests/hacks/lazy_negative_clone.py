# class: framework_fallback
# task: relu, template: mod_joined
# hack: clone of a neg view (materialised negation)

# ---- forward
        return torch._neg_view(mod.f(x)).clone()
