# class: protocol|wrong_value|record
# task: affine, template: forged
# hack: H52 sizes that are negative, fractional, not finite, beyond 64 bits, or text
# why: the kernel is wrong on purpose: if nobody listens to the forged bytes, that is the verdict

# ---- sends
for size in ("-1", "1e400", "NaN", "99999999999999999999999", "0.5", "\"4\"", "[]", "true"):
    send("{\"kind\": \"trace\", \"buffers\": [{\"kind\": \"allocation\", \"bytes\": " + size + "}], "
         "\"ops\": [], \"outputs\": {\"t\": \"none\"}, \"blobs\": [" + size + "]}")
