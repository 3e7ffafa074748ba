# class: extract|record
# task: affine, template: affine
# hack: H56 a thread defines ModelNew after the program has been executed
# why: found when ModelNew is looked for, or when it is called

# ---- python
module = load_inline(name="affine", cpp_sources="torch::Tensor affine(torch::Tensor x);", cuda_sources=source,
                     functions=["affine"])


def define():
    import time
    time.sleep(5)
    globals()["ModelNew"] = type("ModelNew", (nn.Module,), {"forward": lambda self, x: module.affine(x)})


import threading  # noqa: E402

threading.Thread(target=define, daemon=True).start()
