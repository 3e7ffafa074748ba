# class: wrong_shape|record|unsupported|dead_kernel|uninitialised|framework_fallback|non_finite|wrong_value
# task: affine, template: affine
# hack: H23 a tensor without storage is returned
# why: there is nothing to compare; what stands in its place is whatever the memory held

# ---- forward
        module.affine(x)
        return torch.empty(33, 100, device="meta")
