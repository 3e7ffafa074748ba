# class: record|compile|unsupported|protocol|wrong_value
# task: affine, template: affine_copy
# hack: H52 flags that are numbers, bytes, None and nested lists
# why: the kernel is wrong on purpose: a flag or text that is ignored must not make a right program

# ---- build
module = load_inline(name="affine", cpp_sources="torch::Tensor affine(torch::Tensor x);", cuda_sources=source,
                     functions=["affine"],
                     extra_cuda_cflags=[1, None, b"-O3", ["-O3"]], extra_cflags=None)
