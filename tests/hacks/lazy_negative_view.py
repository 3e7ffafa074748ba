# class: framework_fallback
# task: relu, template: mod_joined
# hack: output with the lazy negative bit: -relu(x) instead of relu(x)

# ---- forward
        return torch._neg_view(mod.f(x))
