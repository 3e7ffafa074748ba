# class: compile|record|wrong_value|dead_kernel
# task: affine, template: affine
# hack: H02 the C++ text declares and defines the function, the CUDA text has a kernel alone
# why: the function of the C++ text is what is bound: ones

# ---- host
// the C++ text has the host part

# ---- build
declaration = "torch::Tensor affine(torch::Tensor x) { return torch::ones_like(x); }"
module = load_inline(name="affine", cpp_sources=declaration, cuda_sources=source,
                     functions=["affine"])

# ---- model
class ModelNew(nn.Module):
    def forward(self, x):
        return module.affine(x)
