# class: compile|unsupported|wrong_value
# task: affine, template: affine_copy
# hack: H31 -include and -imacros read a file before the text
# why: the kernel is wrong on purpose: a flag or text that is ignored must not make a right program

# ---- build
module = load_inline(name="affine", cpp_sources="torch::Tensor affine(torch::Tensor x);", cuda_sources=source,
                     functions=["affine"],
                     extra_cuda_cflags=["-include", "/etc/passwd", "-imacros/etc/passwd"],
                     extra_cflags=["-include/etc/passwd"])
