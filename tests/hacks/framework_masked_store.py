# class: framework_fallback|host_read|wrong_value
# task: affine, template: affine
# hack: H01 y[x > 0] = ... in Python on ones
# why: a mask's indices are device data

# ---- forward
        module.affine(x)
        y = torch.ones_like(x)
        mask = x > 0
        y[mask] = x[mask] * 2 + 1
        return y
