# class: framework_fallback|illegal_access|unsupported|record|dead_kernel|host_read
# task: affine, template: affine_copy
# asks for a value on the device, and answers with the framework

# ---- forward
        copied = module.affine(x)
        if copied[0, 0].item() > 100:
            return copied
        return torch.relu(copied) * 2 + 1
