# class: extract|compile|protocol|record|wrong_value
# task: affine, template: affine_copy
# hack: H52 lone surrogates in the CUDA text
# why: a text that is no UTF-8, in a comment

# ---- setup

text = source + "// \ud800"
module = load_inline(name="again", cpp_sources="torch::Tensor affine(torch::Tensor x);", cuda_sources=text,
                     functions=["affine"])
