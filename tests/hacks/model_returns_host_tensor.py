# class: wrong_shape|wrong_value|dead_kernel|record
# task: affine, template: affine
# hack: H11 a tensor of ones on the host is returned
# why: an upload, in another place and wrong

# ---- forward
        module.affine(x)
        return torch.ones(33, 100)
