# class: extract|compile|protocol|record|wrong_value
# task: affine, template: affine_copy
# hack: H52 a NUL between the kernel and its end
# why: a byte that no text has

# ---- setup

text = source.replace("y[i] =", "y[i] \0 =")
module = load_inline(name="again", cpp_sources="torch::Tensor affine(torch::Tensor x);", cuda_sources=text,
                     functions=["affine"])
