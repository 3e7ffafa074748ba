# class: extract|compile|protocol|memory|timeout|record
# task: affine, template: affine_copy
# hack: H62 an identifier of a million letters as a kernel's name
# why: a generated text counts toward the size cap

# ---- setup

text = source + "\n__global__ void k" + "a" * 1000000 + "() {}"
module = load_inline(name="again", cpp_sources="torch::Tensor affine(torch::Tensor x);", cuda_sources=text,
                     functions=["affine"])
