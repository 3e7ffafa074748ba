# class: extract|compile|protocol|record|memory|output_limit|timeout
# task: affine, template: affine_copy
# hack: H52 a generator of sources without end
# why: memory or time ends it

# ---- setup

import itertools

sources = (source for _ in itertools.count())
module = load_inline(name="endless", cpp_sources="", cuda_sources=sources, functions=["affine"])
