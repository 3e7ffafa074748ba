# class: compile|timeout|memory
# task: affine, template: affine
# hack: H62 fifty thousand brackets of three kinds that never close
# why: limits of the splitter's box

# ---- setup

source = source + "\nint deep = " + "({[<" * 12000 + ";"
module = load_inline(name="deep", cpp_sources="torch::Tensor affine(torch::Tensor x);", cuda_sources=source,
                     functions=["affine"])
