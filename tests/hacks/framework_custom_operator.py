# class: framework_fallback|record
# task: affine, template: affine
# hack: H01 a torch.library.custom_op that calls operators
# why: an operator without a fake implementation cannot run on virtual tensors

# ---- setup

@torch.library.custom_op("hidden::affine", mutates_args=())
def hidden(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x) * 2 + 1

# ---- forward
        module.affine(x)
        return torch.ops.hidden.affine(x)
