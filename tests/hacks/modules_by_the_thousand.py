# class: extract|compile|protocol|timeout|memory|process|output_limit|record|unsupported|wrong_value
# task: affine, template: affine_copy
# hack: H62 load_inline is called three thousand times with other texts
# why: the kernel is wrong on purpose: a flag or text that is ignored must not make a right program

# ---- setup

for number in range(3000):
    text = source + f"// {number}"
    module = load_inline(name="again", cpp_sources="torch::Tensor affine(torch::Tensor x);", cuda_sources=text,
                         functions=["affine"])
