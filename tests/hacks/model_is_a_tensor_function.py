# class: wrong_value|record|extract|wrong_shape|dead_kernel
# task: affine, template: affine
# hack: H06 ModelNew is a function that takes the inputs itself
# why: called without arguments it returns the identity

# ---- python
module = load_inline(name="affine", cpp_sources="torch::Tensor affine(torch::Tensor x);", cuda_sources=source,
                     functions=["affine"])


def ModelNew(x=None):
    return module.affine(x) if x is not None else lambda x: x
