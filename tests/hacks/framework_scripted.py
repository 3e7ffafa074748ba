# class: framework_fallback|record|unsupported
# task: gelu, template: elementwise
# hack: H01 torch.jit.script
# why: a script may not run on virtual tensors

__global__ void gelu_kernel(const float* x, float* y, int n) {}

# ---- setup

@torch.jit.script
def scripted(x):
    return torch.nn.functional.gelu(x)

# ---- forward
        module.gelu(x)
        return scripted(x)
