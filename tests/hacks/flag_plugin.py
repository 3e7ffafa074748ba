# class: compile|unsupported|wrong_value
# task: affine, template: affine_copy
# hack: H31 -fplugin, -B, -wrapper and -specs run other programs
# why: the kernel is wrong on purpose: a flag or text that is ignored must not make a right program

# ---- build
module = load_inline(name="affine", cpp_sources="torch::Tensor affine(torch::Tensor x);", cuda_sources=source,
                     functions=["affine"],
                     extra_cflags=["-fplugin=/scratch/x.so", "-B/scratch", "-wrapper", "/bin/sh,-c",
                                   "-specs=/scratch/specs"])
