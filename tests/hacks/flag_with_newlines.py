# class: record|compile|unsupported|protocol|wrong_value
# task: affine, template: affine_copy
# hack: H31 a flag with newlines, quotes and semicolons
# why: the kernel is wrong on purpose: a flag or text that is ignored must not make a right program

# ---- build
module = load_inline(name="affine", cpp_sources="torch::Tensor affine(torch::Tensor x);", cuda_sources=source,
                     functions=["affine"],
                     extra_cuda_cflags=["-DX=1\n#include \"/etc/passwd\"\n", "; cat /etc/passwd", "$(id)", "\x00"])
