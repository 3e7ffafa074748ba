# class: compile|record
# task: affine, template: affine
# hack: H02 the binding asks for a function that the text does not define
# why: found by the linker, or by the loader

# ---- build
module = load_inline(name="affine", cpp_sources="torch::Tensor affine(torch::Tensor x);", cuda_sources=source,
                     functions=["affine", "another"])
