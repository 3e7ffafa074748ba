# class: framework_fallback
# task: affine, template: affine

# ---- forward
        return getattr(torch, "mat" + "mul")(x, x.t())[:, :1] + x
