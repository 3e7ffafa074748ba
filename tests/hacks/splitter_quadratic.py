# class: compile|timeout|memory|extract
# task: affine, template: affine
# hack: H62 thirty thousand half-open templates, launches and comments
# why: limits of the splitter's box; a size cap

# ---- setup

source = source + "".join(f"\ntemplate <class T{i} a<<<b<{i} /* /" for i in range(2000)) + "\"" * 30001
module = load_inline(name="wide", cpp_sources="torch::Tensor affine(torch::Tensor x);", cuda_sources=source,
                     functions=["affine"])
