# class: framework_fallback|unsupported|record
# task: affine, template: affine
# hack: H01 tensor arithmetic through Python's operators and the device's own names
# why: virtual tensors may not go through this at all

# ---- forward
        module.affine(x)
        zero = torch.zeros((), device="cuda")
        return x.maximum(zero) + x.maximum(zero) + torch.ones(1, device="cuda")
