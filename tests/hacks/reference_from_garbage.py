# class: record|framework_fallback|dead_kernel|wrong_value|uninitialised|non_finite
# task: affine, template: affine_copy
# hack: H26 gc.get_objects() is searched for the reference, expected tensors and secrets
# why: it may find its own kernel's result, which is wrong, or the unwritten tensor

# ---- setup

import gc

# ---- forward
        module.affine(x)
        for found in gc.get_objects():
            if isinstance(found, torch.Tensor) and found is not x and tuple(found.shape) == (33, 100):
                return found
            if isinstance(found, dict) and "pytorch_code" in found:
                return torch.relu(x) * 2 + 1
        raise RuntimeError("nothing of the reference in this process")
