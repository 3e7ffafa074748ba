# class: protocol|wrong_value|record|compile|output_limit|timeout|extract
# task: affine, template: forged
# hack: H52 asks for ten thousand compilations of other texts by itself
# why: the kernel is wrong on purpose: if nobody listens to the forged bytes, that is the verdict

# ---- sends
for number in range(10000):
    send(json.dumps({"kind": "compile", "name": f"m{number}", "cuda_sources": [source + f"// {number}"],
                     "cpp_sources": [], "functions": [], "cuda_cflags": [], "cflags": [], "blobs": []}))
