# class: framework_fallback|record|dead_kernel|protocol|host_read|illegal_access|unsupported
# task: gelu, template: elementwise
# hack: H01 guards switch Python dispatch off around an operator
# why: an operator on a tensor without storage may end in many ways, never in an answer

__global__ void gelu_kernel(const float* x, float* y, int n) {}

# ---- forward
        module.gelu(x)
        with torch._C._DisableTorchDispatch():
            return torch._C._nn.gelu(x)
