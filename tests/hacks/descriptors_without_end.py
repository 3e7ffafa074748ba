# class: record|protocol|wrong_value|compile|process
# task: affine, template: affine_copy
# hack: H61 descriptors until there are no more, then a load
# why: what the program lacks now is its own doing

import os

# ---- forward
        kept = []
        try:
            while True:
                kept.append(os.open("/dev/null", os.O_RDONLY))
        except OSError:
            pass
        return load_inline(name="late", cpp_sources="", cuda_sources=source, functions=["affine"]).affine(x)
