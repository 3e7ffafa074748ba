# class: record|extract
# task: affine, template: affine
# hack: H06 ModelNew = Model
# why: found when ModelNew is looked for, or when it is called

# ---- python
module = load_inline(name="affine", cpp_sources="torch::Tensor affine(torch::Tensor x);", cuda_sources=source,
                     functions=["affine"])


ModelNew = Model
