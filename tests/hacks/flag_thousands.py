# class: compile|unsupported|wrong_value|extract|record|protocol|output_limit|memory|timeout
# task: affine, template: affine_copy
# hack: H62 thirty thousand definitions as flags
# why: the kernel is wrong on purpose: a flag or text that is ignored must not make a right program

# ---- build
module = load_inline(name="affine", cpp_sources="torch::Tensor affine(torch::Tensor x);", cuda_sources=source,
                     functions=["affine"],
                     extra_cuda_cflags=[f"-DM{i}={i}" for i in range(30000)])
