# class: record
# task: relu, template: mod_joined
# hack: negative storage offset

# ---- forward
        y=mod.f(x)
        z=torch.as_strided(y,(64,1024),(1024,1),-5)
        return y
