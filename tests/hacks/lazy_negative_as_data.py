# class: framework_fallback
# task: relu, template: mod_joined
# hack: y.data = neg view

# ---- forward
        y=mod.f(x)
        y.data=torch._neg_view(y)
        return y
