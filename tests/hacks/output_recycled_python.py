# class: uninitialised|non_finite|dead_kernel
# task: affine, template: affine
# hack: H25 the kernel's result is dropped and torch.empty_like hoped to find it
# why: no kernel wrote the tensor that is returned; what it holds is poison

# ---- forward
        result = module.affine(x)
        del result
        return torch.empty_like(x)
