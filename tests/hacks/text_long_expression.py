# class: extract|compile|protocol|memory|timeout|record
# task: affine, template: affine_copy
# hack: H62 one expression of two hundred thousand nested parentheses
# why: a generated text counts toward the size cap

# ---- setup

text = source + "\n__device__ int deep = " + "(" * 200000 + "1" + ")" * 200000 + ";"
module = load_inline(name="again", cpp_sources="torch::Tensor affine(torch::Tensor x);", cuda_sources=text,
                     functions=["affine"])
