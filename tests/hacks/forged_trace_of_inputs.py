# class: protocol|wrong_value|record|dead_kernel
# task: affine, template: forged
# hack: H52 a trace frame whose output is the first input
# why: the kernel is wrong on purpose: if nobody listens to the forged bytes, that is the verdict

# ---- sends
send(json.dumps({"kind": "trace", "buffers": [{"kind": "input", "bytes": 13200, "source": 0}], "ops": [], "blobs": [],
                 "outputs": {"t": "tensor", "buffer": 0, "offset": 0, "shape": [33, 100], "strides": [100, 1],
                             "dtype": "float32"}}))
