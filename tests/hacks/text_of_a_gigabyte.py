# class: extract|compile|protocol|memory|output_limit|record
# task: affine, template: affine_copy
# hack: H62 a generated text of a gigabyte
# why: a generated text counts toward the size cap

# ---- setup

text = source + "// " + "x" * (1 << 30)
module = load_inline(name="again", cpp_sources="torch::Tensor affine(torch::Tensor x);", cuda_sources=text,
                     functions=["affine"])
