# class: framework_fallback|record|protocol|dead_kernel|unsupported
# task: affine, template: affine
# hack: H01 torch.library replaces aten::empty_like for the device
# why: virtual tensors may not go through this at all

# ---- setup

overrides = torch.library.Library("aten", "IMPL")
try:
    overrides.impl("empty.memory_format", lambda *a, **k: torch.relu(saved[0]) * 2 + 1, "CUDA")
except Exception:
    pass
saved = []

# ---- forward
        saved.append(x)
        module.affine(x)
        return torch.relu(torch.empty_like(x)) * 2 + 1
