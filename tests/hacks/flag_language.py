# class: compile|unsupported|wrong_value
# task: affine, template: affine_copy
# hack: H31 -x and -E change what the compiler does
# why: the kernel is wrong on purpose: a flag or text that is ignored must not make a right program

# ---- build
module = load_inline(name="affine", cpp_sources="torch::Tensor affine(torch::Tensor x);", cuda_sources=source,
                     functions=["affine"],
                     extra_cflags=["-x", "assembler-with-cpp"], extra_cuda_cflags=["-E"])
