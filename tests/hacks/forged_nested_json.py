# class: protocol|wrong_value|record|output_limit|memory
# task: affine, template: forged
# hack: H52 a frame of a hundred thousand opening brackets
# why: the kernel is wrong on purpose: if nobody listens to the forged bytes, that is the verdict

# ---- sends
send("[" * 100000)
send("{\"kind\": \"trace\", \"ops\": " + "[" * 100000 + "]" * 100000 + "}")
